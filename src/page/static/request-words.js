/** @import { RequestDetail, RequestDocument } from '../../api/requests.ts' */

/*
 * What a request was, in words, for the page and the terminal. Callers make foreign text visible.
 */

/**
 * @param {Pick<RequestDocument, 'credits' | 'search_credits' | 'safeguards_credits'>} request
 * @returns {number | null} with the searches and the checks that the request led to
 */
export function creditsOf({ credits, search_credits: searches, safeguards_credits: checks }) {
  if (credits === null && searches === null && checks === null) return null
  return (credits ?? 0) + (searches ?? 0) + (checks ?? 0)
}

/**
 * @typedef {object} Amounts
 * @property {(time: string) => string} time
 * @property {(tokens: number) => string} count
 * @property {(credits: number) => string} credits
 * @property {(ms: number) => string} duration
 */

/**
 * @param {RequestDetail} request
 * @param {Amounts} amounts how the caller writes them
 * @returns {readonly (readonly [name: string, value: string])[]} without what is not known
 */
export function requestFacts(request, { time, count, credits, duration }) {
  const { client, user_agent: agent, method, asked_model: asked, model, status, http_status: sent } = request
  const { input_tokens: input, output_tokens: output, cached_input_tokens: cached } = request
  const cost = creditsOf(request)
  const ms = (/** @type {number | null} */ value) => (value === null ? '' : duration(value))
  const all = /** @type {(readonly [string, string])[]} */ ([
    ['Id', request.id],
    ['Time', time(request.time)],
    ['Client', client === null ? '' : agent === null || agent === client ? client : `${client} (${agent})`],
    ['Key', request.key ?? ''],
    [
      'Endpoint',
      method === null ? '' : `${method} ${request.path ?? ''}${request.stream === true ? ', streamed' : ''}`,
    ],
    [
      'Model',
      asked !== null && model !== null && asked !== model ? `${model}, requested as ${asked}` : (model ?? asked ?? ''),
    ],
    ['Route', request.route ?? ''],
    ['Fallback', request.fallback ?? ''],
    ['Status', status === sent ? String(status) : `${status}, after the answer had started with ${sent}`],
    ['Error', request.error ?? ''],
    ['Tokens', input === null ? '' : `${count(input)} in (${count(cached ?? 0)} cached), ${count(output ?? 0)} out`],
    ['Credits', cost === null ? '' : credits(cost)],
    ['First byte', ms(request.first_byte_ms)],
    ['Duration', ms(request.duration_ms)],
    ["Provider's id", request.upstream_request_id ?? ''],
  ])
  return all.filter(([, value]) => value !== '')
}
