package postgres

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPasswordsStayInside: whatever a password is, and however wrongly it is
// written into a URL, no piece of it is in the error.
func TestPasswordsStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		password := rapid.StringMatching(`[QXZ0-9/?#@:%\[\]]{4,16}`).Draw(t, "password")
		_, err := parse("postgres://u:" + password + "@db.example/threads?sslmode=nonsense")
		if err == nil {
			t.Fatal("that sslmode is accepted")
		}
		for i := range len(password) - 3 {
			if piece := password[i : i+4]; strings.Contains(err.Error(), piece) {
				t.Fatalf("%v\nholds %q", err, piece)
			}
		}
	})
}

// TestAnnouncements: a notification is as short as the server wants it, and all
// of them together name each log once.
func TestAnnouncements(t *testing.T) {
	for _, n := range []int{0, 1, noticeLogs, noticeLogs + 1, 5*noticeLogs + 7} {
		a := announcements{ready: make(chan struct{}, 1)}
		for range 2 {
			for i := range n {
				a.add(hashed(string(rune(i))).tag())
			}
		}
		if len(a.ready) != min(n, 1) {
			t.Errorf("%d logs: %d tokens", n, len(a.ready))
		}
		named := map[string]bool{}
		for _, notice := range a.take("somebody") {
			if len(notice) >= 8000 {
				t.Errorf("%d logs: a notification of %d bytes", n, len(notice))
			}
			names := strings.Split(notice, " ")
			if names[0] != "somebody" {
				t.Errorf("it is from %q", names[0])
			}
			for _, name := range names[1:] {
				if named[name] {
					t.Errorf("%s is named twice", name)
				}
				named[name] = true
			}
		}
		if len(named) != n || len(a.take("somebody")) != 0 {
			t.Errorf("%d of %d logs are named", len(named), n)
		}
	}
}

// FuzzHeard: a notification may be anything. It wakes whom it names, and nobody
// else.
func FuzzHeard(f *testing.F) {
	key := hashed("a")
	notified := func(k id) string {
		a := announcements{ready: make(chan struct{}, 1)}
		a.add(k.tag())
		return a.take("else")[0]
	}
	notice := notified(key)
	for _, seed := range []string{notice, "self" + notice[4:], strings.ToUpper(notice), "", " ", "x ", "x " + strings.Repeat("z", 32)} {
		f.Add(seed)
	}
	name, otherName := notice[5:], notified(hashed("b"))[5:]
	f.Fuzz(func(t *testing.T, payload string) {
		s := Store{self: "self"}
		w := s.watchers.join(key)
		other := s.watchers.join(hashed("b"))
		s.heard(payload)
		from, rest, _ := strings.Cut(payload, " ")
		for one, name := range map[*watcher]string{w: name, other: otherName} {
			named := slices.ContainsFunc(strings.Split(rest, " "), func(n string) bool { return strings.EqualFold(n, name) })
			if woken := len(one.changed) > 0; woken != (named && from != s.self) {
				t.Errorf("%q: %s is woken: %v", payload, name, woken)
			}
		}
	})
}
