package message

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// Media types by which an agent says something about state. See package state.
const (
	// MediaTypeJSON marks a [DataContent] whose data is a whole state.
	MediaTypeJSON = "application/json"
	// MediaTypeJSONPatch marks a [DataContent] whose data is a JSON Patch (RFC 6902).
	MediaTypeJSONPatch = "application/json-patch+json"
)

// DataContent is bytes with a media type: an image, a file, a JSON document. For
// data that lies elsewhere use [URIContent].
type DataContent struct {
	ContentHeader
	// Name is an optional file name.
	Name string
	// MediaType is an RFC 9110 media type such as "image/png".
	MediaType string
	// Data is the bytes themselves. Microsoft Agent Framework keeps base64 text
	// here; [NewDataContent], [DataContent.Bytes] and [DataContent.URI] are the
	// same in both.
	Data []byte
}

// NewDataContent makes a DataContent of data, which it keeps without a copy.
// It fails for a media type that is none.
func NewDataContent(data []byte, mediaType string) (*DataContent, error) {
	if _, _, err := mime.ParseMediaType(mediaType); err != nil {
		return nil, fmt.Errorf("message: media type %q: %w", mediaType, err)
	}
	return &DataContent{MediaType: mediaType, Data: data}, nil
}

// Bytes returns Data. The error is always nil; it is there because Microsoft
// Agent Framework has to decode.
func (c *DataContent) Bytes() ([]byte, error) { return c.Data, nil }

// URI returns the data URI (RFC 2397) of the content, always in base64.
func (c *DataContent) URI() string {
	return "data:" + c.MediaType + ";base64," + base64.StdEncoding.EncodeToString(c.Data)
}

// TopLevelMediaType returns the part of the media type before the slash, in
// lower case: "image" of "image/png".
func (c *DataContent) TopLevelMediaType() string { return topLevel(c.MediaType) }

// ParseDataURI reads a data URI (RFC 2397), base64 or percent-encoded.
func ParseDataURI(uri string) (*DataContent, error) {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !strings.EqualFold(scheme, "data") {
		return nil, errors.New(`message: a data URI starts with "data:"`)
	}
	head, body, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, errors.New("message: a data URI has a comma before its data")
	}
	mediaType, encoded := head, false
	if len(head) >= len(";base64") && strings.EqualFold(head[len(head)-len(";base64"):], ";base64") {
		mediaType, encoded = head[:len(head)-len(";base64")], true
	}
	if mediaType == "" {
		mediaType = "text/plain;charset=US-ASCII" // RFC 2397, section 2
	}
	var data []byte
	if encoded {
		var err error
		// Senders leave the padding out or use the URL alphabet; both say one thing only.
		body = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(body, "="))
		if data, err = base64.RawStdEncoding.DecodeString(body); err != nil {
			return nil, fmt.Errorf("message: data URI: %w", err)
		}
	} else {
		text, err := url.PathUnescape(body)
		if err != nil {
			return nil, fmt.Errorf("message: data URI: %w", err)
		}
		data = []byte(text)
	}
	return NewDataContent(data, mediaType)
}

// URIContent points at data that lies elsewhere, such as an image on the web.
type URIContent struct {
	ContentHeader
	URI string
	// MediaType may be empty if it is not known.
	MediaType string
}

// TopLevelMediaType returns the part of the media type before the slash, in
// lower case: "image" of "image/png".
func (c *URIContent) TopLevelMediaType() string { return topLevel(c.MediaType) }

// HostedFileContent points at a file that the model's vendor keeps.
type HostedFileContent struct {
	ContentHeader
	FileID    string
	Name      string
	MediaType string
	// Provider names the vendor, if known.
	Provider string
}

// TopLevelMediaType returns the part of the media type before the slash, in
// lower case: "image" of "image/png".
func (c *HostedFileContent) TopLevelMediaType() string { return topLevel(c.MediaType) }

func topLevel(mediaType string) string {
	top, _, _ := strings.Cut(mediaType, "/")
	return strings.ToLower(strings.TrimSpace(top))
}
