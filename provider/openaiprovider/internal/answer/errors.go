package answer

import (
	"cmp"
	"encoding/json"
)

// ServiceError is an error that the service reported, in its own words: for logs, once
// they are redacted.
type ServiceError struct{ Code, Type, Message string }

func (s *ServiceError) Error() string { return cmp.Or(s.Message, s.Code, s.Type, "no reason given") }

// parseError reads an error member: an object in OpenAI's form, or whatever a gateway
// puts there.
func parseError(raw json.RawMessage) *ServiceError {
	var object struct {
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
		Message json.RawMessage `json:"message"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return &ServiceError{Message: plainText(raw)}
	}
	return &ServiceError{Code: plainText(object.Code), Type: plainText(object.Type), Message: plainText(object.Message)}
}

func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	if !said(raw) {
		return ""
	}
	return string(raw)
}

// BodyError reads the body of an answer with an error status.
func BodyError(body []byte) *ServiceError {
	var object struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &object) != nil {
		return &ServiceError{Message: string(body)}
	}
	if said(object.Error) {
		return parseError(object.Error)
	}
	return &ServiceError{Message: cmp.Or(plainText(object.Message), plainText(object.Detail))}
}
