import { expect, test } from 'vitest'
import type { UpstreamDialectId } from '../../../../src/translate/dialect.ts'
import { dialects } from '../../../../src/translate/dialects.ts'
import { translateCall } from '../../../../src/translate/translated-call.ts'
import { formatWarning } from '../../../../src/translate/warning.ts'
import { encodeContext, traits } from '../../turns.ts'

// Requests with the same tools share what was read and fitted for the first of them.

const claude = traits('claude-sonnet-4.5', { vendor: 'Anthropic' })
const gemini = traits('gemini-3-pro-preview', { vendor: 'Google' })
const gpt = traits('gpt-5-mini', { vendor: 'OpenAI' })

/** @param novelty a value that each tool has for a member that we do not know */
function textWith(dialect: UpstreamDialectId, novelty: string): string {
  const properties = `{"path $":{"type":"string","pattern":"^a"},"at":{"type":["object","null"]}}`
  const schema = `{"type":"object","properties":${properties},"description":"${'d'.repeat(2000)}"}`
  const tools = ['one', 'two', 'three'].map((name) => {
    if (dialect === 'messages') return `{"novelty":${novelty},"name":"${name}","input_schema":${schema}}`
    if (dialect === 'responses')
      return `{"novelty":${novelty},"type":"function","name":"${name}","parameters":${schema}}`
    return `{"novelty":${novelty},"type":"function","function":{"name":"${name}","parameters":${schema}}}`
  })
  const asked = dialect === 'responses' ? `"input":"x"` : `"messages":[{"role":"user","content":"x"}]`
  return `{"model":"m","max_tokens":9,${asked},"tools":[${tools.join()}]}`
}

function send(text: string, from: UpstreamDialectId, to: UpstreamDialectId, model: typeof claude) {
  const request = dialects[from].decodeRequest(text, { bytes: Buffer.from(text) })
  const { request: sent, reader } = translateCall(dialects[from], dialects[to].upstream, request, encodeContext(model))
  return { body: sent.body.toString(), warnings: sent.warnings.map(formatWarning), names: reader.notes.properties }
}

const routes: readonly [UpstreamDialectId, UpstreamDialectId, typeof claude][] = [
  ['chat', 'chat', gemini],
  ['chat', 'chat', claude],
  ['chat', 'messages', claude],
  ['messages', 'messages', claude],
  ['messages', 'chat', gemini],
  ['responses', 'responses', gpt],
  ['responses', 'chat', gemini],
]

test.each(routes)(
  '%s > %s: a request gets the same tools, warnings and names whether or not one came before',
  (...route) => {
    const [from] = route
    // Each text has bytes that no other test has sent.
    const first = send(textWith(from, `"${route.map(String).join()}"`), ...route)
    for (const other of routes) if (other[0] === from) send(textWith(from, `"${route.map(String).join()}"`), ...other)
    expect(send(textWith(from, `"${route.map(String).join()}"`), ...route)).toEqual(first)
  },
)

test.each(routes.filter(([from, to]) => from === to))(
  '%s > %s: numbers keep their bytes, also after a request whose tools differ in them only',
  (...route) => {
    const numbers = ['1', '1.0', '12345678901234567890']
    const bodies = numbers.map((number) => send(textWith(route[0], number), ...route).body)
    expect(bodies.map((body) => /"novelty":([\d.]+)/.exec(body)?.[1])).toEqual(numbers)
  },
)
