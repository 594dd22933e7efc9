;; Wants raw sockets, which no tool may have.
(component
  (import "wasi:sockets/instance-network@0.2.0" (instance
    (export "instance-network" (func (result u32))))))
