;; Wants to ask another agent.
(component
  (import "palisade:host/agents@0.1.0" (instance
    (export "ask" (func (param "agent" string) (param "message" string) (result string))))))
