package scripted

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/jsondoc"
)

// A schema that refers to itself does not grow into everything there is.
func TestSampleIsBounded(t *testing.T) {
	var members []string
	for i := range 28 {
		members = append(members, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
	}
	v := sample(jsondoc.MustParse(`{"type":"object","properties":{`+strings.Join(members, ",")+`}}`), "")
	if v.Size() > 64<<10 {
		t.Errorf("%d bytes", v.Size())
	}
}
