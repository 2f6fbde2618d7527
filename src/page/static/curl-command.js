/** @import { RequestDetail } from '../../api/requests.ts' */
import { toVisible, toVisibleJson } from './visible-text.js'

/** APIs whose requests are a JSON body and nothing else. */
const repeatable = new Set(['chat', 'messages', 'count_tokens', 'responses', 'embeddings'])

/** Headers that curl or this command sets, or that apply to one connection. */
const ownHeaders =
  /^(?:host|connection|content-length|content-type|accept-encoding|user-agent|expect|te|authorization|x-api-key|sec-websocket-protocol)$/

/**
 * Whether the request came over HTTP with a body that a command can send again. A program in the daemon, for example the
 * agent, sends none.
 * @param {RequestDetail} request
 */
export function isOfHttp({ api, method }) {
  return method === 'POST' && repeatable.has(api ?? '')
}

/**
 * Returns a command for a POSIX shell that sends a request again. It contains a variable instead of the key. Undefined if no
 * command can: the body was not stored in full, or a credential was removed from it.
 * @param {RequestDetail} request
 * @param {{ url: string, isKeyAsked: boolean }} place
 * @returns {string | undefined}
 */
export function curlCommand(request, { url, isKeyAsked }) {
  const { api, path, stream, request_body: kept } = request
  if (!isOfHttp(request) || path === null || kept === null || request.request_body_truncated) return undefined
  if (kept.includes('[redacted]')) return undefined
  const headers = Object.entries(request.request_headers ?? {}).filter(([name]) => !ownHeaders.test(name))
  const needsVersion =
    (api === 'messages' || api === 'count_tokens') && !headers.some(([name]) => name === 'anthropic-version')
  return [
    `curl ${inQuotes(toVisible(url + path))}`,
    ...(stream === true ? ['--no-buffer'] : []),
    ...(isKeyAsked ? ['-H "Authorization: Bearer $COPILOT_PROXY_API_KEY"'] : []),
    ...(needsVersion ? ["-H 'anthropic-version: 2023-06-01'"] : []),
    ...headers.map(([name, value]) => `-H ${inQuotes(toVisible(`${name}: ${value}`))}`),
    "-H 'content-type: application/json'",
    `--data-raw ${inQuotes(toVisibleJson(toOneLine(kept)))}`,
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
function inQuotes(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
