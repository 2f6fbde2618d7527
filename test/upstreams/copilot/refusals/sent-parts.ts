import { isObject, objectOf, textOf, objectsOf } from '../../../../src/json/json.ts'
import type { JsonObject } from '../../../../src/json/json.ts'
import type { SentRequest } from './row.ts'

// Reads tools, calls, texts and images out of a body of any of the three APIs.

export interface SentTool {
  /** Position among all tools. */
  readonly at: number
  /** Path in the API's own form, e.g. `tools[0].tools[1]`. */
  readonly path: string
  readonly name: string
  readonly schema: unknown
  readonly tool: JsonObject
}

/** The messages of Chat and Messages, the items of Responses. */
export function entriesIn({ path, body }: SentRequest): readonly JsonObject[] {
  if (path !== '/responses') return objectsOf(body['messages'])
  return typeof body['input'] === 'string' ? [{ role: 'user', content: body['input'] }] : objectsOf(body['input'])
}

/** Function tools, also those of namespaces and of items that add tools. */
export function toolsIn(sent: SentRequest): readonly SentTool[] {
  const lists = [{ path: 'tools', tools: sent.body['tools'] }].concat(
    sent.path === '/responses' ? entriesIn(sent).map(({ tools }, at) => ({ path: `input[${at}].tools`, tools })) : [],
  )
  const found = lists.flatMap(({ path, tools }) => flatTools(tools, path))
  return found.map(({ path, name, schema, tool }, at) => ({ at, path, name, schema, tool }))
}

function flatTools(tools: unknown, path: string): readonly Omit<SentTool, 'at'>[] {
  return objectsOf(tools).flatMap((tool, at) => {
    const own = `${path}[${at}]`
    if (tool['type'] === 'namespace') return flatTools(tool['tools'], `${own}.tools`)
    const inner = isObject(tool['function']) ? tool['function'] : tool
    const schema = inner['parameters'] ?? inner['input_schema']
    return [{ path: own, name: textOf(inner['name']), schema: schema ?? undefined, tool }]
  })
}

export interface SentCall {
  readonly id: string
  readonly name: string
  /** Text of the arguments; undefined on Messages, where they are an object. */
  readonly arguments: string | undefined
  /** Index of the message or item. */
  readonly entry: number
  readonly at: number
}

/** The calls of the history. */
export function callsIn(sent: SentRequest): readonly SentCall[] {
  return entriesIn(sent).flatMap((entry, index): readonly SentCall[] => {
    if (sent.path === '/responses') {
      if (entry['type'] !== 'function_call') return []
      const { call_id: id, name, arguments: text } = entry
      return [{ id: textOf(id), name: textOf(name), arguments: textOf(text), entry: index, at: 0 }]
    }
    if (sent.path === '/v1/messages') {
      return blocksIn(entry)
        .map((block, at) => ({ block, at }))
        .filter(({ block }) => block['type'] === 'tool_use')
        .map(({ block: { id, name }, at }) => ({
          id: textOf(id),
          name: textOf(name),
          arguments: undefined,
          entry: index,
          at,
        }))
    }
    return objectsOf(entry['tool_calls']).map(({ id, function: given }, at) => {
      const { name, arguments: text } = objectOf(given)
      return { id: textOf(id), name: textOf(name), arguments: textOf(text), entry: index, at }
    })
  })
}

/** Parts or blocks of a message; [] if its content is a text. */
export function blocksIn({ content }: JsonObject): readonly JsonObject[] {
  return objectsOf(content)
}

export interface SentImage {
  /** Path in the words of the model's maker. */
  readonly path: string
  /** '' for an address. */
  readonly mediaType: string
  /** Base64; '' for an address. */
  readonly data: string
  /** The address or the whole `data:` URL; '' on Messages for bytes. */
  readonly url: string
  readonly detail: unknown
}

/** The images of the request, also those in results of tools. */
export function imagesIn(sent: SentRequest): readonly SentImage[] {
  return entriesIn(sent).flatMap((entry, index) => {
    if (sent.path === '/responses') {
      return (['content', 'output'] as const).flatMap((member) =>
        objectsOf(entry[member]).flatMap((part, at) =>
          part['type'] === 'input_image'
            ? [imageOf(textOf(part['image_url']), `input[${index}].${member}[${at}]`, part['detail'])]
            : [],
        ),
      )
    }
    if (sent.path === '/v1/messages') {
      return blocksIn(entry).flatMap((block, at) => imagesOfBlock(block, `messages.${index}.content.${at}`))
    }
    return blocksIn(entry).flatMap((part, at) => {
      const image = part['image_url']
      if (!isObject(image)) return []
      return [
        imageOf(textOf(image['url']), `messages.${index}.content.${at}.image.source.base64.data`, image['detail']),
      ]
    })
  })
}

function imagesOfBlock(block: JsonObject, path: string): readonly SentImage[] {
  if (block['type'] === 'tool_result') {
    return blocksIn(block).flatMap((inner, at) => imagesOfBlock(inner, `${path}.tool_result.content.${at}`))
  }
  const { source } = block
  if (block['type'] !== 'image' || !isObject(source)) return []
  return [
    {
      path: `${path}.image.source.base64.data`,
      mediaType: textOf(source['media_type']),
      data: textOf(source['data']),
      url: textOf(source['url']),
      detail: undefined,
    },
  ]
}

function imageOf(url: string, path: string, detail: unknown): SentImage {
  const match = /^data:([^;,]*)(?:;[^,]*)?,/.exec(url)
  return { path, mediaType: match?.[1] ?? '', data: match === null ? '' : url.slice(match[0].length), url, detail }
}

/** What the model is asked to count as a stop: Chat `stop`, Messages `stop_sequences`. */
export function stopsIn({ body }: SentRequest): readonly string[] {
  const given = body['stop'] ?? body['stop_sequences'] ?? []
  return (Array.isArray(given) ? given : [given]).map(String)
}
