import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RequestListBody } from '../../api/requests.ts'
import { maySee } from '../../config/caller.ts'
import { Fault } from '../../errors.ts'
import { redactText } from '../../redaction/redact.ts'
import { maxRequests } from '../../usage/requests.ts'
import type { RequestFilter, RequestList } from '../../usage/requests.ts'

export interface RequestRouteDeps {
  readonly requests: Pick<RequestList, 'list' | 'find'>
  /** Removes known credentials, which bodies and messages may contain. */
  readonly redact: (text: string) => string
}

const defaultLimit = 50

/** `GET /requests`, newest first, and `GET /requests/{id}`. */
export function registerRequestRoutes(app: FastifyInstance, { requests, redact }: RequestRouteDeps): void {
  const send = (reply: FastifyReply, document: object): FastifyReply =>
    reply
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(redactText(redact(JSON.stringify(document))))

  // Also during shutdown: the requests that it ends are of interest.
  const config = { always: true }
  app.get('/requests', { config }, (request, reply) => {
    refusePage(request)
    const list: RequestListBody = { requests: requests.list(filterOf(request), seenBy(request)) }
    return send(reply, list)
  })

  app.get('/requests/:id', { config }, (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
    refusePage(request)
    const found = requests.find(request.params.id, seenBy(request))
    if (found !== undefined) return send(reply, found)
    const message = `None of the last ${maxRequests} requests has this id. List them with GET /requests.`
    const error = { message, type: 'invalid_request_error', code: 'request_not_found', param: 'id' }
    return send(reply.code(404), { error })
  })
}

/** Bodies are private, so that even the pages of `server.allowed-origins` get no answer. Only the daemon's own page does. */
function refusePage({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'] ?? 'none'
  if (headers.origin === undefined && (site === 'none' || site === 'same-origin')) return
  throw new Fault({ kind: 'forbidden', detail: 'web pages cannot read the list of requests' })
}

function seenBy({ caller }: FastifyRequest) {
  return (ownerId: string | undefined): boolean => maySee(caller, ownerId)
}

function filterOf({ url }: FastifyRequest): RequestFilter {
  const query = new URLSearchParams(url.split('?', 2)[1])
  const limit = Number(query.get('limit') ?? defaultLimit)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxRequests) {
    throw invalid('limit', `must be a whole number from 1 to ${maxRequests}`)
  }
  const failed = query.get('failed') ?? 'false'
  if (failed !== 'true' && failed !== 'false') throw invalid('failed', 'must be true or false')
  return {
    limit,
    failedOnly: failed === 'true',
    key: query.get('key') ?? undefined,
    model: query.get('model') ?? undefined,
    after: query.get('after') ?? undefined,
  }
}

function invalid(path: string, detail: string): Fault {
  return new Fault({ kind: 'invalid_request', path, detail, code: 'invalid_value' })
}
