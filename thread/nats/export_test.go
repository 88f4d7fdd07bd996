package nats

import "time"

// SetPatience makes a store finish at once what others left undone.
func (s *Store) SetPatience(d time.Duration) { s.patience = d }
