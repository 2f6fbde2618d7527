/** @import { RequestDetail } from '../wire.ts' */
import { toVisible } from './visible-text.js'

/** The fields that a request needs besides its model, by API. They replace a body that was not kept. */
const placeholders = new Map([
  ['chat', { messages: [{ role: 'user', content: 'Hello' }] }],
  ['messages', { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }],
  ['count_tokens', { messages: [{ role: 'user', content: 'Hello' }] }],
  ['responses', { input: 'Hello' }],
  ['embeddings', { input: 'Hello' }],
])

/** Headers that curl or this command sets, or that apply to one connection. */
const ownHeaders =
  /^(?:host|connection|content-length|content-type|accept-encoding|user-agent|authorization|x-api-key|expect|te)$/

/**
 * Returns a command for a POSIX shell that sends a request again. It contains a variable instead of the key.
 * @param {RequestDetail} request
 * @param {{ url: string, isKeyAsked: boolean }} place
 * @returns {string}
 */
export function curlCommand(request, { url, isKeyAsked }) {
  const { api, method, path, asked_model: asked, model, stream } = request
  const kept = request.request_body_truncated ? null : request.request_body
  const placeholder = placeholders.get(api ?? '')
  const spare = placeholder && {
    model: asked ?? model ?? 'gpt-5-mini',
    ...(stream === true && { stream }),
    ...placeholder,
  }
  const body = kept === null ? spare && JSON.stringify(spare) : toOneLine(kept)
  const headers = Object.entries(request.request_headers ?? {}).filter(([name]) => !ownHeaders.test(name))
  const needsVersion =
    (api === 'messages' || api === 'count_tokens') && !headers.some(([name]) => name === 'anthropic-version')
  const isPlain = method === null || method === 'GET' || (method === 'POST' && body !== undefined)
  return [
    `curl ${quoted(url + (path ?? '/v1/chat/completions'))}`,
    ...(isPlain ? [] : [`-X ${quoted(method)}`]),
    ...(stream === true ? ['--no-buffer'] : []),
    ...(isKeyAsked ? ['-H "Authorization: Bearer $COPILOT_PROXY_API_KEY"'] : []),
    ...(needsVersion ? ["-H 'anthropic-version: 2023-06-01'"] : []),
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : ["-H 'content-type: application/json'", `--data-raw ${quoted(body)}`]),
  ].join(' \\\n  ')
}

/** @param {string} body */
function toOneLine(body) {
  try {
    return JSON.stringify(JSON.parse(body))
  } catch {
    return body
  }
}

/** @param {string} text */
function quoted(text) {
  return `'${toVisible(text).replaceAll("'", String.raw`'\''`)}'`
}
