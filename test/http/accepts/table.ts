import { expect, test } from 'vitest'
import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'
import { isObject, textOf, objectOf } from '../../../src/json/json.ts'
import type { CopilotSettings } from '../../upstreams/copilot/settings.ts'
import { STRICT } from '../../upstreams/copilot/refusals/rows.ts'
import { STREAMING_ROUTES } from '../../upstreams/copilot/routes.ts'
import { dialectPaths } from '../callers.ts'
import { openProxy } from '../harness.ts'
import type { Proxy } from '../harness.ts'
import { readAnswer } from './read-answer.ts'
import { some } from '../../thorough.ts'
import type { ReadAnswer } from './read-answer.ts'

export type Json = Readonly<Record<string, unknown>>

/** One request that callers send, which Copilot refuses if it goes upstream as it came. */
export interface Accepted {
  /** The kind of the report, and the input. */
  readonly title: string
  readonly caller: UpstreamDialectId
  readonly model: string
  /** Without `model` and `stream`. */
  readonly body: Json
  readonly headers?: Readonly<Record<string, string>>
  /** What the host does besides `STRICT`. */
  readonly host?: Partial<CopilotSettings> | undefined
  /** Default: 200. `any`: the check decides. */
  readonly status?: number | 'any'
  /** Checks besides the status. */
  readonly check?: (outcome: Outcome) => void
}

/** What came of a request. */
export interface Outcome extends ReadAnswer {
  /** The last body that upstream got. */
  readonly sent: Json
  readonly route: string | undefined
  /** Requests for the answer that upstream got, repetitions included. */
  readonly requests: number
  /** Value of the warnings header; '' for none. */
  readonly warnings: string
  readonly status: number
  /** The message of an error; '' for none. */
  readonly error: string
  /** The code of an error, or its type on Messages; '' for none. */
  readonly code: string
  /** The reply as it came. */
  readonly raw: string
}

/**
 * Tests each row in front of the strictest host: as a streamed and as a whole answer in a thorough run, else as one of them.
 * @param known titles of the rows that the proxy does not repair yet. These tests are expected to fail; a repair removes its
 * titles from the list.
 */
export function testAccepted(rows: readonly Accepted[], known: readonly string[]): void {
  const open = new Set(known)
  for (const [at, row] of rows.entries()) {
    const title = `${row.title}: ${row.caller} to ${row.model}`
    const run = async (): Promise<void> => {
      for (const stream of some([false, true], 2, at)) await checkRow(row, stream)
    }
    if (open.delete(title)) test.fails(title, run)
    else test(title, run)
  }
  test('each known failure is a row', () => {
    expect([...open]).toEqual([])
  })
}

async function checkRow(row: Accepted, stream: boolean): Promise<void> {
  const proxy = await openProxy({ demo: { settings: { refusals: STRICT, ...row.host } } })
  const outcome = await ask(proxy, row, stream)
  if (row.status === undefined) expect(`${outcome.status} ${outcome.error}`).toBe('200 ')
  else if (row.status !== 'any') expect(outcome.status).toBe(row.status)
  row.check?.(outcome)
}

async function ask(proxy: Proxy, { caller, model, body, headers = {} }: Accepted, stream: boolean): Promise<Outcome> {
  const asking = { body: JSON.stringify({ model, stream, ...body }), headers: { ...headers } }
  const { status, text, headers: replied } = await proxy.send(dialectPaths[caller], asking)
  const asked = proxy.demo.log.filter(({ route }) => STREAMING_ROUTES.has(route))
  const last = asked.at(-1)
  return {
    ...(status === 200 ? readAnswer(caller, text) : { text: '', calls: [], finish: undefined }),
    ...(status === 200 ? { error: '', code: '' } : errorOf(text)),
    status,
    sent: last === undefined ? {} : jsonOf(last.body),
    route: last?.route,
    requests: asked.length,
    warnings: String(replied['x-copilot-proxy-warnings'] ?? ''),
    raw: text,
  }
}

function jsonOf(text: string): Json {
  return objectOf(JSON.parse(text))
}

function errorOf(text: string): Pick<Outcome, 'error' | 'code'> {
  const { error } = jsonOf(text)
  const fields = objectOf(error)
  const { message = text, code, type } = fields
  return { error: textOf(message), code: textOf(code) || textOf(type) }
}

// Requests in the caller's API, for tables.

const sentence = 'hi'

/** A first user message. */
export function prompt(caller: UpstreamDialectId, text = sentence): Json {
  const messages = [{ role: 'user', content: text }]
  if (caller === 'responses') return { input: text }
  return caller === 'chat' ? { messages } : { max_tokens: 1000, messages }
}

/** A tool in the caller's form. */
export function tool(caller: UpstreamDialectId, name: string, schema: unknown, description = 'Does something'): Json {
  switch (caller) {
    case 'chat':
      return { type: 'function', function: { name, description, parameters: schema } }
    case 'responses':
      return { type: 'function', name, description, parameters: schema }
    case 'messages':
      return { name, description, input_schema: schema }
  }
}

/** Tools of the last request to upstream, as name and schema, namespaces included. */
export function sentTools({ sent }: Outcome): readonly { readonly name: unknown; readonly schema: Json }[] {
  const flat = (tools: unknown): readonly Json[] =>
    Array.isArray(tools)
      ? tools.filter(isObject).flatMap((each) => (each['type'] === 'namespace' ? flat(each['tools']) : [each]))
      : []
  return flat(sent['tools']).map((each) => {
    const inner = isObject(each['function']) ? each['function'] : each
    const schema = inner['parameters'] ?? inner['input_schema']
    return { name: inner['name'], schema: objectOf(schema) }
  })
}

/** Names of the properties in the first tool that upstream got. */
export function sentProperties(outcome: Outcome): readonly string[] {
  const properties = sentTools(outcome)[0]?.schema['properties']
  return isObject(properties) ? Object.keys(properties) : []
}

/** Everything that upstream got last, as one text. */
export function sentText({ sent }: Outcome): string {
  return JSON.stringify(sent)
}
