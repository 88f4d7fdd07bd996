// Records what fast-json-patch does with documents and patches, one case a line:
//   npm install fast-json-patch@3.1.1 && node record.mjs > cases.jsonl
// The call is the one that the AG-UI client makes: validate, do not mutate.
import jsonpatch from 'fast-json-patch'

let seed = 12345
const random = n => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
  return (seed >>> 8) % n
}
const pick = list => list[random(list.length)]

const tokens = ['a', 'b', 'l', 'o', 's', 'n', '0', '1', '2', '3', '-', '01', '-1', '1e0', ' 1', '', 'a~1b', 'm~0n',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', 'é']
const values = ['null', 'true', '0', '1', '1.5', '"s"', '""', '[]', '{}', '[1,2]', '{"a":1}', '{"a":{"b":[null]}}', '{"__proto__":{"x":1}}']
const docs = [
  '{}', '[]', 'null', '1', '"text"',
  '{"a":1,"b":null}',
  '{"l":[1,2,3],"o":{"a":{"b":1},"l":[[1],[2]]},"s":"text","n":null}',
  '{"":{"":1},"a/b":1,"m~n":{"a":2},"é":[0]}',
  '[{"a":1},[1,[2]],null]',
  '{"constructor":{"prototype":{"a":1},"a":1},"prototype":{"a":1},"toString":{"a":1}}',
  '{"__proto__":{"a":1},"length":[1]}',
]

const pointers = doc => {
  const all = []
  const walk = (v, p) => {
    all.push(p)
    if (v && typeof v === 'object') {
      for (const k of Object.keys(v)) walk(v[k], p + '/' + k.replaceAll('~', '~0').replaceAll('/', '~1'))
    }
  }
  walk(doc, '')
  return all
}

const pointer = doc => {
  let p = pick(pointers(doc))
  while (random(5) < 2) p += '/' + pick(tokens)
  return p
}

const record = (docText, patchText) => {
  const line = { doc: docText, patch: patchText }
  console.warn = () => {}
  try {
    const r = jsonpatch.applyPatch(JSON.parse(docText), JSON.parse(patchText), true, false)
    line.result = JSON.stringify(r.newDocument)
  } catch (e) {
    line.error = e.name === 'TypeError' ? 'TypeError' : String(e.name)
  }
  console.log(JSON.stringify(line))
}

for (let i = 0; i < 1000; i++) {
  const docText = pick(docs)
  const doc = JSON.parse(docText)
  const ops = []
  for (let n = 1 + random(3); n > 0; n--) {
    const op = pick(['add', 'add', 'remove', 'replace', 'move', 'copy', 'test'])
    let text = `{"op":"${op}","path":${JSON.stringify(pointer(doc))}`
    if (op === 'move' || op === 'copy') text += `,"from":${JSON.stringify(pointer(doc))}`
    if (op === 'add' || op === 'replace') text += `,"value":${pick(values)}`
    if (op === 'test') text += `,"value":${random(2) ? pick(values) : docText}`
    ops.push(text + '}')
  }
  record(docText, '[' + ops.join(',') + ']')
}

// What is no patch at all.
for (const p of ['{}', 'null', '[null]', '[1]', '[{}]', '[{"op":"add"}]', '[{"op":"add","path":"/a"}]', '[{"op":"nop","path":"/a"}]',
  '[{"op":"add","path":1,"value":1}]', '[{"op":"add","path":"a","value":1}]', '[{"op":"move","path":"/a"}]',
  '[{"op":"copy","path":"/a","from":1}]', '[{"op":"replace","path":""}]', '[{"op":"test","path":"/a"}]',
  '[{"op":"remove","path":"/a","value":1}]', '[{"op":"add","path":"/a","value":1,"extra":[1]}]', '[]']) {
  record('{"a":1}', p)
}
