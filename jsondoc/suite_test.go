package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// freeCases is what Parse does with the files whose treatment the grammar leaves
// open: "" to accept, else a part of the reason to refuse.
//
// Numbers are texts, so none is too large or too small. Text that is not Unicode
// is refused; ReplaceInvalid accepts it. A byte order mark is no white space
// (RFC 8259 section 8.1 lets a parser ignore it; a document that starts with it
// would not come out as it came in).
var freeCases = map[string]string{
	"i_number_double_huge_neg_exp":                   "",
	"i_number_huge_exp":                              "",
	"i_number_neg_int_huge_exp":                      "",
	"i_number_pos_double_huge_exp":                   "",
	"i_number_real_neg_overflow":                     "",
	"i_number_real_pos_overflow":                     "",
	"i_number_real_underflow":                        "",
	"i_number_too_big_neg_int":                       "",
	"i_number_too_big_pos_int":                       "",
	"i_number_very_big_negative_int":                 "",
	"i_object_key_lone_2nd_surrogate":                "surrogate",
	"i_string_1st_surrogate_but_2nd_missing":         "surrogate",
	"i_string_1st_valid_surrogate_2nd_invalid":       "surrogate",
	"i_string_UTF-16LE_with_BOM":                     "a value should be",
	"i_string_UTF-8_invalid_sequence":                "not UTF-8",
	"i_string_UTF8_surrogate_U+D800":                 "not UTF-8",
	"i_string_incomplete_surrogate_and_escape_valid": "surrogate",
	"i_string_incomplete_surrogate_pair":             "surrogate",
	"i_string_incomplete_surrogates_escape_valid":    "surrogate",
	"i_string_invalid_lonely_surrogate":              "surrogate",
	"i_string_invalid_surrogate":                     "surrogate",
	"i_string_invalid_utf-8":                         "not UTF-8",
	"i_string_inverted_surrogates_U+1D11E":           "surrogate",
	"i_string_iso_latin_1":                           "not UTF-8",
	"i_string_lone_second_surrogate":                 "surrogate",
	"i_string_lone_utf8_continuation_byte":           "not UTF-8",
	"i_string_not_in_unicode_range":                  "not UTF-8",
	"i_string_overlong_sequence_2_bytes":             "not UTF-8",
	"i_string_overlong_sequence_6_bytes":             "not UTF-8",
	"i_string_overlong_sequence_6_bytes_null":        "not UTF-8",
	"i_string_truncated-utf-8":                       "not UTF-8",
	"i_string_utf16BE_no_BOM":                        "a value should be",
	"i_string_utf16LE_no_BOM":                        "a value should be",
	"i_structure_500_nested_arrays":                  "",
	"i_structure_UTF-8_BOM_empty_object":             "a value should be",
}

// oddCases are accepted by the grammar (RFC 8259 leaves it to the parser what a
// repeated name means) but refused by the default rule for repeated names.
var oddCases = map[string]bool{
	"y_object_duplicated_key":           true,
	"y_object_duplicated_key_and_value": true,
}

func TestParsingSuite(t *testing.T) {
	files, err := filepath.Glob("testdata/json-parsing/*.json")
	if err != nil || len(files) < 300 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	free := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		v, err := Parse(data, nil)
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(data)) {
			t.Errorf("%s: error %#v", name, err)
		}
		switch name[0] {
		case 'y':
			if oddCases[name] {
				if err == nil {
					t.Errorf("%s: a repeated name is accepted by default", name)
				}
				v, err = Parse(data, &ParseOptions{KeepLast: true})
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			// encoding/json reads the same out of what we write.
			var want, got any
			if err := json.Unmarshal(data, &want); err != nil {
				t.Errorf("%s: encoding/json: %v", name, err)
			}
			if err := json.Unmarshal(v.AppendJSON(nil), &got); err != nil {
				t.Errorf("%s: written as %s: %v", name, v, err)
			}
			x, _ := json.Marshal(want)
			y, _ := json.Marshal(got)
			if !bytes.Equal(x, y) {
				t.Errorf("%s: written as %s, want %s", name, y, x)
			}
			checkShape(t, v)
		case 'n':
			if err == nil {
				t.Errorf("%s: accepted as %s", name, v)
			}
			if _, err := Parse(data, &ParseOptions{ReplaceInvalid: true, KeepLast: true}); err == nil {
				t.Errorf("%s: accepted under the loosest options", name)
			}
		case 'i':
			free++
			want, listed := freeCases[name]
			if !listed {
				t.Errorf("%s: no rule in the table", name)
			} else if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %s, %v; want an error with %q", name, v, err, want)
			}
			if want != "" && !strings.Contains(want, "should be") {
				if _, err := Parse(data, &ParseOptions{ReplaceInvalid: true}); err != nil {
					t.Errorf("%s under ReplaceInvalid: %v", name, err)
				}
			}
		}
	}
	if free != len(freeCases) {
		t.Errorf("%d files are free, the table has %d", free, len(freeCases))
	}
}

func TestPatchSuite(t *testing.T) {
	for file, least := range map[string]int{"tests.json": 90, "spec_tests.json": 16} {
		data, err := os.ReadFile("testdata/json-patch/" + file)
		if err != nil {
			t.Fatal(err)
		}
		// The suite repeats names on purpose in one of its patches, so its
		// records are cut out by encoding/json, which keeps them as they are.
		var records []struct {
			Doc, Patch, Expected json.RawMessage
			Comment, Error       string
			Disabled             bool
		}
		if err := json.Unmarshal(data, &records); err != nil {
			t.Fatal(err)
		}
		ran := 0
		for i, r := range records {
			if r.Disabled || r.Doc == nil {
				continue
			}
			ran++
			doc := MustParse(string(r.Doc))
			var got Value
			p, err := ParsePatch(r.Patch)
			if err == nil {
				got, err = p.Apply(doc, nil)
			}
			switch {
			case r.Error != "":
				if err == nil {
					t.Errorf("%s %d (%s): gives %s, want an error: %s", file, i, r.Comment, got, r.Error)
				}
			case err != nil:
				t.Errorf("%s %d (%s): %v", file, i, r.Comment, err)
			case r.Expected != nil:
				if want := MustParse(string(r.Expected)); !Equal(got, want) {
					t.Errorf("%s %d (%s): gives %s, want %s", file, i, r.Comment, got, want)
				}
				checkShape(t, got)
			}
			if doc.String() != MustParse(string(r.Doc)).String() {
				t.Errorf("%s %d (%s): the document changed", file, i, r.Comment)
			}
		}
		if ran < least {
			t.Errorf("%s: only %d cases ran", file, ran)
		}
	}
}
