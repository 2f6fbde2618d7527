import type { IncomingHttpHeaders } from 'node:http'
import type { Outcome } from '../http/outcome.ts'
import { openaiError } from './failures.ts'

/** Headers that state to Copilot which program makes a request, and why (docs/copilot-wire.md, "Request headers"). */
const COPILOT_HEADERS =
  /^(?:copilot-|editor-|x-github-|github-|x-initiator$|x-interaction-|x-agent-task-id$|x-vscode-|x-request-te-|openai-intent$|vscode-)/

/** Headers of the caller's own connection or of another vendor's API. */
const FOREIGN_HEADERS = /^(?:cf-|x-forwarded-|forwarded$|via$|cookie$|anthropic-|x-api-key$)/

/** Tokens of GitHub and Copilot, anywhere in a value. */
const COPILOT_TOKEN = /\b(?:gh[opusr]_|github_pat_|tid=)/

const COPILOT_AGENT = /copilot-chat|GitHubCopilot|^GithubCopilot/i

/**
 * Refuses headers that belong to Copilot, which the real services do not check. `isApi`: also refuses headers that a
 * browser may send to the issuer. The refusal does not repeat values, because they may be secrets.
 */
export function refuseCopilotTraces(headers: IncomingHttpHeaders, isApi: boolean): Outcome | undefined {
  for (const [name, value = ''] of Object.entries(headers)) {
    if (COPILOT_HEADERS.test(name)) return mixedUp(`header ${name} belongs to GitHub Copilot`)
    if (COPILOT_TOKEN.test(String(value))) return mixedUp(`header ${name} holds a token of GitHub or Copilot`)
    if (isApi && FOREIGN_HEADERS.test(name)) return mixedUp(`header ${name} belongs to the caller`)
  }
  if (COPILOT_AGENT.test(headers['user-agent'] ?? '')) return mixedUp('header user-agent is that of GitHub Copilot')
  return undefined
}

export function mixedUp(what: string): Outcome {
  return openaiError(400, { message: `Simulated Codex: ${what}.`, code: 'mixed_up_upstreams' })
}
