;; Wants to call the `write` tool of its agent.
(component
  (import "palisade:toolbox/write@0.1.0" (instance
    (export "call" (func (param "input" string) (result (result string (error string))))))))
