//! Guests in a process of their own: the same calls come to the same, whatever the process does the host goes on, and
//! who breaks out of a guest is in an empty room.

mod death;
mod hostile;
mod room;
mod same;
