// Package tool answers one question: what can a model call?
//
// A [Tool] has a name and a description. What else it can do is told by the
// interfaces it implements:
//
//   - [Declared]: it has a schema, so a model can be told how to call it. That
//     alone is a *declaration*: somebody else runs the tool, usually the client
//     that sent it along ([NewDeclaration]). Its calls are left unanswered.
//   - [FuncTool]: it can be called here. Package functool makes one of a Go
//     function, package mcptool of an MCP server's tool.
//   - [ApprovalRequiredTool]: a person is asked before it runs.
//
// # What a tool's error shows
//
// A failed call has an answer too: the model reads it and can do better. But an
// error's text may hold a path, a query or a secret, so it is never shown. The
// answer is a neutral sentence, and the error goes to the log. A tool that wants
// to tell the model what to do says so with [Errorf]; that text is for the model
// and for the person in front of it:
//
//	return nil, tool.Errorf("there is no city %q; use the English name", in.City)
package tool
