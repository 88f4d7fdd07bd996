package state

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// S2, S6: an edit of a view that showed predictions. What the state has, then or
// now, can be edited; what only a prediction has cannot, and is named.
func TestEditOfPredictions(t *testing.T) {
	m, err := NewModel(Config{Initial: jsondoc.Object()})
	if err != nil {
		t.Fatal(err)
	}
	const old = `{"title":"A","recipe":{"name":"Soup","steps":["boil"]}}`
	for name, c := range map[string]struct {
		was, shown, now, wanted string
		want                    string
		predicted               string
	}{
		"over a text":            {old, `{"title":"Predic","recipe":{"name":"Soup","steps":["boil"]}}`, old, `{"title":"Mine","recipe":{"name":"Soup","steps":["boil"]}}`, `{"title":"Mine","recipe":{"name":"Soup","steps":["boil"]}}`, ""},
		"beside it":              {old, `{"title":"Predic","recipe":{"name":"Soup","steps":["boil"]}}`, old, `{"title":"Predic","recipe":{"name":"Stew","steps":["boil"]}}`, `{"title":"A","recipe":{"name":"Stew","steps":["boil"]}}`, ""},
		"a member of a new one":  {`{}`, `{"recipe":{"name":"Go"}}`, `{}`, `{"recipe":{"name":"Mine"}}`, `{}`, "[/recipe/name]"},
		"added to a new one":     {`{}`, `{"recipe":{"name":"Go"}}`, `{}`, `{"recipe":{"name":"Go","x":1}}`, `{}`, "[/recipe/x]"},
		"a new one, removed":     {`{}`, `{"recipe":{"name":"Go"}}`, `{}`, `{}`, `{}`, "[/recipe]"},
		"a new one, and another": {`{}`, `{"recipe":{"name":"Go"}}`, `{}`, `{"recipe":{"name":"Mine"},"y":1}`, `{"y":1}`, "[/recipe/name]"},
		"inside one that grows":  {old, `{"title":"A","recipe":{"name":"Goul"}}`, old, `{"title":"A","recipe":{"name":"Mine"}}`, `{"title":"A","recipe":{"name":"Mine","steps":["boil"]}}`, ""},
		"a new member of one":    {old, `{"title":"A","recipe":{"name":"Goul","serves":1}}`, old, `{"title":"A","recipe":{"name":"Goul","serves":2}}`, old, "[/recipe/serves]"},
		"an item":                {old, `{"title":"A","recipe":{"name":"Goul","steps":["ch"]}}`, old, `{"title":"A","recipe":{"name":"Goul","steps":["mine"]}}`, old, "[/recipe/steps/0]"},
		"a list, replaced":       {old, `{"title":"A","recipe":{"name":"Goul","steps":["ch"]}}`, old, `{"title":"A","recipe":{"name":"Goul","steps":"none"}}`, `{"title":"A","recipe":{"name":"Soup","steps":"none"}}`, ""},
		"a list, removed":        {old, `{"title":"A","recipe":{"name":"Goul","steps":["ch"]}}`, old, `{"title":"A","recipe":{"name":"Goul"}}`, `{"title":"A","recipe":{"name":"Soup"}}`, ""},
		"null to an object":      {`{"recipe":null}`, `{"recipe":{"name":"Go"}}`, `{"recipe":null}`, `{"recipe":{"name":"Mine"}}`, `{"recipe":null}`, "[/recipe/name]"},
		"null to an object, all": {`{"recipe":null}`, `{"recipe":{"name":"Go"}}`, `{"recipe":null}`, `{"recipe":"mine"}`, `{"recipe":"mine"}`, ""},
		// Committed since, the places are like any other.
		"committed, a member":  {`{}`, `{"recipe":{"name":"Go"}}`, `{"recipe":{"name":"Goulash","serves":4}}`, `{"recipe":{"name":"Mine"}}`, `{"recipe":{"name":"Mine","serves":4}}`, ""},
		"committed, an item":   {`{"l":["a"]}`, `{"l":["x"]}`, `{"l":["x","y"]}`, `{"l":["mine"]}`, `{"l":["mine","y"]}`, ""},
		"committed, removed":   {`{}`, `{"recipe":{"name":"Go"}}`, `{"recipe":{"name":"Go"}}`, `{}`, `{}`, ""},
		"committed, unchanged": {`{}`, `{"recipe":{"name":"Go"}}`, `{"recipe":{"name":"Goulash"}}`, `{"recipe":{"name":"Go"}}`, `{"recipe":{"name":"Goulash"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			doc := jsondoc.MustParse
			// The prediction is on show still, unless it was committed.
			now := Doc{State: doc(c.now), View: doc(c.shown)}
			if c.now != c.was {
				now.View = doc(c.now)
			}
			got, err := m.Edit(now, Doc{State: doc(c.was), View: doc(c.shown)}, doc(c.wanted))
			if err != nil {
				t.Fatal(err)
			}
			if !jsondoc.Equal(got.State, doc(c.want)) {
				t.Errorf("state %s, want %s", got.State, c.want)
			}
			if text := fmt.Sprint(got.Predicted); text != "[]" && text != c.predicted || text == "[]" && c.predicted != "" {
				t.Errorf("predicted %v, want %q", got.Predicted, c.predicted)
			}
			if c.predicted == "" && c.now == c.was && !jsondoc.Equal(got.View, doc(c.wanted)) {
				t.Errorf("view %s: the edit shows above the prediction", got.View)
			}
		})
	}
}

// S2: what a client that was cut off may hold, and what of it is an edit.
func TestEcho(t *testing.T) {
	doc := jsondoc.MustParse
	committed := func(s string) Doc { return Doc{State: doc(s), View: doc(s)} }
	predicted := func(state, view string) Doc { return Doc{State: doc(state), View: doc(view)} }
	shown := []Doc{
		committed(`{"a":1,"big":9007199254740993}`),
		predicted(`{"a":1,"big":9007199254740993}`, `{"a":1,"big":9007199254740993,"r":{"t":"Go"}}`),
		predicted(`{"a":1,"big":9007199254740993}`, `{"a":1,"big":9007199254740993,"r":{"t":"Goulash","n":2}}`),
		committed(`{"a":5,"big":9007199254740993}`),
	}
	for name, c := range map[string]struct {
		held   int // of the documents, what was written last
		posted string
		want   string
		lost   string
	}{
		"what was written last":       {2, `{"a":1,"big":9007199254740993,"r":{"t":"Goulash","n":2}}`, `{"a":1,"big":9007199254740993,"r":{"t":"Goulash","n":2}}`, "[]"},
		"what was there before":       {2, `{"a":1,"big":9007199254740993,"r":{"t":"Go"}}`, `{"a":1,"big":9007199254740993,"r":{"t":"Goulash","n":2}}`, "[]"},
		"nothing of it yet":           {2, `{"a":1,"big":9007199254740993}`, `{"a":1,"big":9007199254740993,"r":{"t":"Goulash","n":2}}`, "[]"},
		"as a browser has it":         {0, `{"a":1,"big":9007199254740992}`, `{"a":1,"big":9007199254740993}`, "[]"},
		"an edit":                     {2, `{"a":2,"big":9007199254740993,"r":{"t":"Go"}}`, `{"a":2,"big":9007199254740993,"r":{"t":"Goulash","n":2}}`, "[]"},
		"an edit of the prediction":   {2, `{"a":1,"big":9007199254740993,"r":{"t":"Mine","n":2}}`, `{"a":1,"big":9007199254740993,"r":{"t":"Mine","n":2}}`, "[]"},
		"a removal":                   {2, `{"a":1,"r":{"t":"Go"}}`, `{"a":1,"r":{"t":"Goulash","n":2}}`, "[]"},
		"taken back, and held":        {3, `{"a":5,"big":9007199254740993}`, `{"a":5,"big":9007199254740993}`, "[]"},
		"taken back, an echo":         {3, `{"a":1,"big":9007199254740993,"r":{"t":"Go"}}`, `{"a":5,"big":9007199254740993}`, "[]"},
		"taken back, edited":          {3, `{"a":1,"big":9007199254740993,"r":{"t":"Mine"}}`, `{"a":5,"big":9007199254740993}`, "[/r]"},
		"taken back, and one's own":   {3, `{"a":1,"big":9007199254740993,"r":{"t":"Go"},"mine":1}`, `{"a":5,"big":9007199254740993,"mine":1}`, "[]"},
		"a later value than was read": {0, `{"a":5,"big":9007199254740993}`, `{"a":1,"big":9007199254740993}`, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			got, lost := Echo(doc(c.posted), shown[c.held].View, shown)
			if !jsondoc.Equal(got, doc(c.want)) {
				t.Errorf("read as %s, want %s", got, c.want)
			}
			if fmt.Sprint(lost) != c.lost {
				t.Errorf("lost %v, want %s", lost, c.lost)
			}
		})
	}
}
