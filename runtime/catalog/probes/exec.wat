;; Wants to run a native program.
(component
  (import "palisade:host/process@0.1.0" (instance
    (export "run" (func (param "command" string) (result string))))))
