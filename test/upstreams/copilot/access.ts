import type { IncomingMessage } from 'node:http'
import { failure, usualFailure } from './failures.ts'
import { textReply } from '../http/outcome.ts'
import type { Outcome } from '../http/outcome.ts'
import type { TokenStore } from './tokens.ts'

/** API versions that the model host accepts (docs/copilot-wire.md, "Request headers"). Any other counts as retired. */
const API_VERSIONS = new Set(['2024-12-15', '2025-04-01', '2025-05-01', '2026-01-09', '2026-06-01', '2026-08-01'])

/** The oldest VS Code that may use Codex models (opencode-copilot-auth#1). */
const OLDEST_FOR_CODEX = [1, 104, 1]

/** Refuses a Codex model to an editor that is too old; undefined otherwise. */
export function refuseEditor(editor: string, modelId: string): Outcome | undefined {
  const version = /^vscode\/(\d+)(?:\.(\d+))?(?:\.(\d+))?/
    .exec(editor)
    ?.slice(1)
    .map((part) => Number(part ?? 0))
  if (version === undefined || !/-codex\b/.test(modelId)) return undefined
  const differs = OLDEST_FOR_CODEX.findIndex((part, at) => part !== version[at])
  if (differs === -1 || (version[differs] ?? 0) > (OLDEST_FOR_CODEX[differs] ?? 0)) return undefined
  const advice = `Please update it to version ${OLDEST_FOR_CODEX.join('.')} or newer`
  return failure(400, { message: `model ${modelId} is not supported in this VS Code version. ${advice}`, code: '' })
}

/**
 * The checks of every route of the Copilot API before it reads the body, with the texts of docs/copilot-wire.md,
 * "Errors": host, identity headers, token, API version, `X-Initiator`. Undefined if they pass.
 */
export function refuseAccess(request: IncomingMessage, tokens: TokenStore): Outcome | undefined {
  const { headers } = request

  const bearer = /^bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer === undefined || countHeader(request, 'authorization') > 1) {
    return textReply(400, 'bad request: Authorization header is badly formatted')
  }
  const isDirect = takesDirectly(bearer, headers['copilot-integration-id'])
  if (!isDirect && /^(?:ghp_|github_pat_)/.test(bearer)) {
    return textReply(400, 'bad request: Personal Access Tokens are not supported for this endpoint')
  }
  const editor = headers['editor-version']
  if (editor === undefined && !isDirect)
    return textReply(400, 'bad request: missing Editor-Version header for IDE auth')
  if (!isDirect && (typeof editor !== 'string' || !/^[\w.-]+\/\d\S*$/.test(editor))) {
    return textReply(400, 'bad request: unknown Editor-Version header for IDE auth')
  }
  if (!(isDirect ? tokens.isGithubLive(bearer) : tokens.isCopilotLive(bearer))) return usualFailure(401)

  const version = headers['x-github-api-version']
  if (version !== undefined && !API_VERSIONS.has(String(version))) {
    return textReply(
      466,
      'bad request: the specified API version is no longer supported. You may need to update your client to a newer version.',
    )
  }
  const initiator = headers['x-initiator']
  if (initiator !== undefined && initiator !== 'user' && initiator !== 'agent') {
    return textReply(400, 'bad request: invalid X-Initiator header')
  }
  return undefined
}

/**
 * Whether a GitHub token is accepted without an exchange (docs/copilot-wire.md, "Without exchange"). NOTE: That `ghu_`
 * tokens need this integration id is a guess. Without the rule, no test would notice a proxy that omits the exchange.
 */
function takesDirectly(bearer: string, integration: unknown): boolean {
  return bearer.startsWith('gho_') || (/^(?:ghu_|github_pat_)/.test(bearer) && integration === 'copilot-developer-cli')
}

/** Counts in the raw list, because Node drops repetitions of some headers. */
function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === name) count += 1
  }
  return count
}
