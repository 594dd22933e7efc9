;; Wants to send HTTP requests.
(component
  (import "wasi:http/outgoing-handler@0.2.0" (instance
    (export "handle" (func (param "request" u32) (result u32))))))
