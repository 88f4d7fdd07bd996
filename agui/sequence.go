package agui

// Sequence is defined below; placeholder for compile order.
type Sequence struct{}

// Check is being written.
func (s *Sequence) Check(e Event) error { return nil }
