import { dirname, join, relative, sep } from 'node:path'

/**
 * The folders and files of src, and what each imports besides itself and `shared`. Imports point one way: main > commands >
 * daemon > app > http, rpc, gateway, mcp, acp, page > agent, sessions > tools, workspace > pipeline > executors, models, usage >
 * auth, translate > sse > errors; config, logging and redaction sit at the bottom.
 */
const layers: Readonly<Record<string, string>> = {
  main: 'commands config executors redaction terminal',
  commands:
    'daemon gateway mcp acp page http usage models executors auth translate tools workspace sessions client-settings terminal config logging redaction sqlite upstream-errors',
  daemon:
    'app gateway mcp page http agent sessions usage models pipeline executors auth client-settings demo config logging redaction',
  app: 'http rpc mcp page sessions pipeline models usage websocket config',
  http: 'sessions workspace pipeline models usage executors auth translate websocket config logging redaction',
  rpc: 'http websocket sessions tools workspace translate config logging',
  gateway: 'http websocket sessions agent tools workspace auth config logging',
  mcp: 'http page websocket agent sessions tools workspace translate terminal config logging redaction',
  acp: 'page terminal',
  page: '',
  agent: 'tools workspace translate config logging upstream-errors',
  sessions: 'agent tools workspace translate sqlite config logging redaction',
  tools: 'workspace logging',
  workspace: 'auth config logging',
  pipeline: 'executors models usage auth translate sse config logging redaction upstream-errors',
  usage: 'executors models sqlite logging redaction',
  models: 'executors translate config logging',
  executors: 'auth sse config logging redaction upstream-errors',
  auth: 'config logging redaction upstream-errors',
  translate: 'sse upstream-errors',
  demo: 'auth executors models translate sse config',
  sse: '',
  'upstream-errors': 'redaction',
  'client-settings': 'models config',
  websocket: 'config logging',
  sqlite: 'auth',
  terminal: 'page',
  api: '',
  config: '',
  logging: 'redaction terminal',
  redaction: '',
  json: '',
  cache: '',
  errors: '',
}

const shared = new Set(['api', 'errors', 'json', 'cache'])

/** What some files do not import, besides: paths below src, or names of packages. */
const refusals: readonly { readonly files: RegExp; readonly imports: RegExp; readonly reason: string }[] = [
  {
    files: /^(sse|translate)\//,
    imports: /^(node:|undici|fastify|pino|commander|yaml)/,
    reason: 'sse and translate are pure: no clock, network, files, logger or random.',
  },
  ...['chat', 'messages', 'responses'].map((dialect) => ({
    files: new RegExp(`^translate/(?!${dialect}/).+/`),
    imports: new RegExp(`^translate/${dialect}/`),
    reason:
      'Dialects do not know each other, and the engine knows none: what two of them need belongs in translate/engine.',
  })),
  {
    files: /^translate\/[a-z]+\/write-stream\b/,
    imports: /^translate\/[a-z]+\/(rules|read-stream)\b/,
    reason: 'Writing a reply for a caller knows neither the rules nor the events of upstream.',
  },
  {
    files: /^translate\/[a-z]+\/rules\b/,
    imports: /^translate\/[a-z]+\/(write-stream|read-stream)\b/,
    reason: 'Rules change requests and know no reply.',
  },
  {
    files: /^(pipeline|tools|sessions|agent|rpc|gateway|mcp)\//,
    imports: /^translate\/(chat|messages|responses)\//,
    reason: 'Whoever asks a model knows dialects by their contract and the table in translate/dialects.ts.',
  },
  ...(
    [
      ['codex', 'copilot'],
      ['copilot', 'codex'],
    ] as const
  ).map(([own, other]) => ({
    files: new RegExp(`^(auth/${own}/|executors/${own}|models/${own}-)`),
    imports: new RegExp(`^(auth|executors|models)/.*${other}`),
    reason: 'Copilot and Codex share nothing: no token, header, base URL, connection pool or error rule.',
  })),
  {
    files: /^auth\/([^/]+$|records\/)/,
    imports: /^auth\/(codex|copilot)\//,
    reason: 'What Copilot and Codex share knows neither.',
  },
  { files: /^pipeline\//, imports: /^(fastify|node:http)$/, reason: 'The pipeline knows no HTTP of its callers.' },
  {
    files: /^workspace\//,
    imports: /^auth\/([^/]+$|codex\/|copilot\/)/,
    reason: 'A workspace knows no login: of auth, it uses the safe writes and locks of files.',
  },
  {
    files: /^client-settings\//,
    imports: /^(node:(?!url$|util$)|undici|fastify|pino|commander|zod)/,
    reason: 'What clients are told is text made of text: no files, no network.',
  },
]

const src = join(import.meta.dirname, 'src')

/** A path below src with `/`, without `.ts` in a file that lies loose in src; undefined outside src. */
function placeOf(path: string): string | undefined {
  const place = relative(src, path).split(sep).join('/')
  return place.startsWith('..') ? undefined : place.replace(/^([^/]+)\.ts$/, '$1')
}

/** The simulated upstreams of tests and benchmarks; files that measure the dialects themselves are none. */
const simulations = /^(?:test\/upstreams\/|bench\/(?!.*\.bench\.ts$))/

/** Why a simulated upstream may not import something: with the daemon's own dialects, it would share their errors. */
function simulationRefusal(file: string, specifier: string): string | undefined {
  const isSimulation = simulations.test(
    relative(import.meta.dirname, file)
      .split(sep)
      .join('/'),
  )
  const target = isSimulation && specifier.startsWith('.') ? (placeOf(join(dirname(file), specifier)) ?? '') : ''
  return /^(?:translate|demo)\//.test(target) ? 'Simulated upstreams have codecs of their own.' : undefined
}

/** Why a file may not import something; undefined if it may. */
function refusalOf(file: string, specifier: string): string | undefined {
  const from = placeOf(file)
  if (from === undefined) return simulationRefusal(file, specifier)
  const isRelative = specifier.startsWith('.')
  const to = isRelative ? placeOf(join(dirname(file), specifier)) : specifier
  if (to === undefined) return specifier.endsWith('/package.json') ? undefined : 'src imports nothing outside src.'
  const refusal = refusals.find(({ files, imports }) => files.test(from) && imports.test(to))
  if (refusal !== undefined) return refusal.reason
  if (!isRelative) return undefined
  const [layer = '', target = ''] = [from, to].map((place) => place.split('/', 1)[0] ?? '')
  const allowed = layers[layer]
  if (allowed === undefined) return `Name src/${layer} and what it imports in layers.config.ts.`
  if (target === layer || shared.has(target) || allowed.split(' ').includes(target)) return undefined
  return `src/${layer} does not import src/${target} (layers.config.ts).`
}

interface Import {
  readonly source?: { readonly value?: unknown } | null
}

interface Context {
  readonly filename: string
  readonly report: (problem: { readonly node: unknown; readonly message: string }) => void
}

/** A plugin of oxlint, which reads it through `jsPlugins` in .oxlintrc.json. */
export default {
  meta: { name: 'layers' },
  rules: {
    'one-way': {
      create(context: Context) {
        const check = (node: Import): void => {
          const specifier = node.source?.value
          const message = typeof specifier === 'string' ? refusalOf(context.filename, specifier) : undefined
          if (message !== undefined) context.report({ node, message })
        }
        return {
          ImportDeclaration: check,
          ImportExpression: check,
          ExportNamedDeclaration: check,
          ExportAllDeclaration: check,
        }
      },
    },
  },
}
