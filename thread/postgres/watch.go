package postgres

import "sync"

// watchers are those who wait for a log to change. The zero watchers are none.
type watchers struct {
	mu   sync.Mutex
	logs map[tag]map[*watcher]struct{}
}

// watcher waits for one log.
type watcher struct {
	key     id
	changed chan struct{} // has a token when the log may have changed

	mu    sync.Mutex
	place place // that it has read to
	knows bool  // whether it has read yet
}

// place is where a log ends; zero where there is none.
type place struct{ log, seq int64 }

func (w *watchers) join(key id) *watcher {
	one := &watcher{key: key, changed: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logs == nil {
		w.logs = map[tag]map[*watcher]struct{}{}
	}
	if w.logs[key.tag()] == nil {
		w.logs[key.tag()] = map[*watcher]struct{}{}
	}
	w.logs[key.tag()][one] = struct{}{}
	return one
}

func (w *watchers) leave(one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := one.key.tag()
	if delete(w.logs[t], one); len(w.logs[t]) == 0 {
		delete(w.logs, t)
	}
}

// wake tells everybody who waits for a log.
func (w *watchers) wake(t tag) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.logs[t] {
		one.wake()
	}
}

// wakeAll tells everybody.
func (w *watchers) wakeAll() {
	for _, one := range w.all() {
		one.wake()
	}
}

func (w *watchers) all() (out []*watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waiting := range w.logs {
		for one := range waiting {
			out = append(out, one)
		}
	}
	return out
}

// wake gives a token. One that is still there says the same.
func (w *watcher) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// at says where the watcher has read to.
func (w *watcher) at(e end) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.place, w.knows = place{e.log, int64(e.head.Seq)}, true
}

// compare wakes the watcher where its log ends elsewhere. One that has not read
// yet, or is at it, looks by itself.
func (w *watcher) compare(now place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.knows && w.place != now {
		w.wake()
	}
}
