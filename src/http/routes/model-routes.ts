import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { CallerKey } from '../../config/caller.ts'
import type { Config } from '../../config/schema.ts'
import { Fault } from '../../errors.ts'
import type { ListedModel } from '../../models/catalogue.ts'
import type { CodexCli } from '../../models/codex-catalogue.ts'
import type { ModelRegistry } from '../../models/registry.ts'
import { fitCatalogue, renderCodexCatalogue } from '../../models/codex-catalogue.ts'
import {
  nameForClaudeCode,
  renderAnthropicList,
  renderAnthropicModel,
  renderModel,
  renderModelList,
} from '../../models/render.ts'
import type { ModelPage } from '../../models/render.ts'
import type { Lifetimes } from '../lifetimes.ts'
import { requireOwner } from './owner-routes.ts'
import { keyRefusal } from '../../pipeline/route-model.ts'

type ModelRequest = FastifyRequest<{ Params: { '*': string } }>

/** The list format a caller expects; all formats share one path. */
type ListShape = 'openai' | 'anthropic' | 'codex'

/** `POST /models/refresh`: the owner has changed something about the models of the account. */
export function registerModelRefresh(
  app: FastifyInstance,
  { lifetimes, refreshModels }: { readonly lifetimes: Lifetimes; readonly refreshModels: RefreshModels },
): void {
  app.post('/models/refresh', { config: { dialect: 'chat' } }, (request, reply) =>
    lifetimes.whileCallerStays(request, reply, async (signal) => {
      requireOwner(request.caller)
      await refreshModels(signal)
      return reply.code(204).send()
    }),
  )
}

/** Fetches the model list of the account in use; a failure leaves the list as it is. */
export type RefreshModels = (signal: AbortSignal) => Promise<unknown>

/** `GET /v1/models` and `/v1/models/{id}`, also without `/v1`. */
export function registerModelRoutes(
  app: FastifyInstance,
  registryOf: (key: CallerKey | undefined) => ModelRegistry,
  config: () => Config,
  codexCli: () => Promise<CodexCli | undefined> = async () => undefined,
): void {
  for (const path of ['/v1/models', '/models']) {
    app.get(path, async (request, reply) => {
      const isAllowed = (entry: ListedModel) =>
        keyRefusal(config(), request.caller.key?.name, entry.id, entry) === undefined
      const registry = registryOf(request.caller.key)
      const models = registry.list().filter(isAllowed)
      markSeeds(reply, models)
      switch (shapeFor(request)) {
        case 'codex':
          return withEtag(request, reply, JSON.stringify(catalogueFor(request, models, await codexCli())))
        case 'anthropic':
          return renderAnthropicList(models, pageOf(request), isClaudeCode(request) ? nameForClaudeCode : undefined)
        case 'openai':
          return renderModelList(
            models,
            config().copilot.upstreamDialect,
            queryOf(request).get('include') === 'disabled' ? registry.listSwitchedOff().filter(isAllowed) : undefined,
          )
      }
    })

    // Not `:id`: ids such as `copilot/gpt-5-mini` hold a slash.
    app.get(`${path}/*`, async (request: ModelRequest, reply) => {
      const resolved = registryOf(request.caller.key).resolve(request.params['*'])
      if (!resolved.ok) throw new Fault(resolved.error)
      const refusal = keyRefusal(config(), request.caller.key?.name, request.params['*'], resolved.value)
      if (refusal !== undefined) throw refusal
      markSeeds(reply, [resolved.value])
      switch (shapeFor(request)) {
        case 'codex':
          return catalogueFor(request, [resolved.value], await codexCli())
        case 'anthropic':
          return renderAnthropicModel(resolved.value)
        case 'openai':
          return renderModel(resolved.value, config().copilot.upstreamDialect)
      }
    })
  }
}

/** With the prompt of this user's Codex, if the caller has its version. */
function catalogueFor(request: FastifyRequest, models: readonly ListedModel[], cli: CodexCli | undefined) {
  const catalogue = renderCodexCatalogue(models)
  return cli?.version === queryOf(request).get('client_version') ? fitCatalogue(catalogue, cli) : catalogue
}

/** Says in a header that the list of an account is unknown, so that some models are built in. */
function markSeeds(reply: FastifyReply, models: readonly ListedModel[]): void {
  if (models.some(({ model }) => model.source === 'seed')) reply.header('x-copilot-proxy-models', 'seeds')
}

function isClaudeCode({ headers }: FastifyRequest): boolean {
  return /^claude-(?:code|cli)\//.test(headers['user-agent'] ?? '')
}

function shapeFor(request: FastifyRequest): ListShape {
  const query = queryOf(request)
  if (query.has('client_version')) return 'codex'
  const isPaged = ['limit', 'after_id', 'before_id'].some((name) => query.has(name))
  return isPaged || request.headers['anthropic-version'] !== undefined ? 'anthropic' : 'openai'
}

function queryOf(request: FastifyRequest): URLSearchParams {
  const at = request.url.indexOf('?')
  return new URLSearchParams(at === -1 ? '' : request.url.slice(at + 1))
}

/** Anthropic's own default and maximum. */
const defaultLimit = 20
const maxLimit = 1000

function pageOf(request: FastifyRequest): ModelPage {
  const query = queryOf(request)
  const limit = Number(query.get('limit') ?? defaultLimit)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    const detail = `must be a whole number from 1 to ${maxLimit}`
    throw new Fault({ kind: 'invalid_request', path: 'limit', detail, code: 'invalid_value' })
  }
  return { limit, afterId: query.get('after_id') ?? undefined, beforeId: query.get('before_id') ?? undefined }
}

/** Codex fetches the list again only if the tag has changed. Source: RFC 9110, section 13.1.2. */
function withEtag(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  const tag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`
  void reply.header('etag', tag)
  const known = (request.headers['if-none-match'] ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''))
  if (known.includes(tag) || known[0] === '*') return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(text)
}
