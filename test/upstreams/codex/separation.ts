import type { IncomingHttpHeaders } from 'node:http'
import type { Outcome } from '../../../src/demo/outcome.ts'
import { openaiError } from '../../../src/demo/codex/failures.ts'

/** Names by which a program tells Copilot who it is and why it asks (docs/copilot-wire.md, "Request headers"). */
const COPILOT_HEADERS =
  /^(?:copilot-|editor-|x-github-|github-|x-initiator$|x-interaction-|x-agent-task-id$|x-vscode-|x-request-te-|openai-intent$|vscode-)/

/** What belongs to a caller's own connection or to another vendor's API. */
const FOREIGN_HEADERS = /^(?:cf-|x-forwarded-|forwarded$|via$|cookie$|anthropic-|x-api-key$)/

/** GitHub's tokens and Copilot's, wherever in a value. */
const COPILOT_TOKEN = /\b(?:gh[opusr]_|github_pat_|tid=)/

const COPILOT_AGENT = /copilot-chat|GitHubCopilot|^GithubCopilot/i

/**
 * The check the real services do not make: whether anything in the headers was meant for Copilot. `isApi` also looks for
 * what a browser at the issuer may well send. Values are not repeated, since they may be secrets.
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
