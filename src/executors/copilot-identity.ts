import { editorHeaders, fixedHeaders, type purposeHeaders } from '../config/header-table.ts'
import type { Initiator, Purpose, UpstreamCall } from './executor.ts'

/** Headers that identify a program, names in lower case. */
export type IdentityHeaders = Readonly<Record<string, string>>

type PurposeHeader = (typeof purposeHeaders)[number]

/** One of GitHub's own programs, as copilot-proxy presents itself. Upstream may compare the parts of an identity. */
export interface Identity {
  /** The same for every request. */
  readonly fixed: IdentityHeaders
  /** The values that `auto` derives. Undefined: the header is not sent. */
  readonly automatic: Readonly<Record<PurposeHeader, (call: UpstreamCall, initiator: Initiator) => string | undefined>>
  /** Headers of `GET /models` beyond `fixed`. */
  readonly ofModelList: IdentityHeaders
}

/** The intent depends on the request's origin and decides upstream's content checks. */
const intentOf: Readonly<Record<Purpose, string>> = {
  agent: 'conversation-agent',
  panel: 'conversation-panel',
  subagent: 'conversation-agent',
  compaction: 'conversation-agent',
  background: 'conversation-panel',
}

const ofEveryProgram: Pick<Identity['automatic'], 'x-interaction-id' | 'x-agent-task-id'> = {
  'x-interaction-id': ({ interaction }) => interaction?.id,
  'x-agent-task-id': ({ requestId }) => requestId,
}

/**
 * GitHub's editor, which exchanges its GitHub token. Source: docs/copilot-wire.md, "Request headers" and "Purpose".
 * @param configured `copilot.headers`
 */
export function editorIdentity(configured: IdentityHeaders): Identity {
  return {
    fixed: fixedHeaders(configured),
    automatic: {
      ...ofEveryProgram,
      'openai-intent': ({ interaction }) => interaction && intentOf[interaction.purpose],
      'x-interaction-type': ({ interaction }) => interaction && `conversation-${interaction.purpose}`,
    },
    ofModelList: { 'openai-intent': 'model-access' },
  }
}

/** The headers of GitHub's CLI 1.0.102 where the editor has others; '' for one that it does not send. */
const cliHeaders: IdentityHeaders = {
  'user-agent': 'copilot/1.0.102 (linux v24.20.0) term/unknown client/github/cli',
  'editor-version': 'copilot/1.0.102',
  'editor-plugin-version': '',
  'x-vscode-user-agent-library-version': '',
}

/** Fine-grained tokens work with no other integration id (docs/copilot-wire.md, "Without exchange"). */
const cliOnly: IdentityHeaders = {
  'copilot-integration-id': 'copilot-developer-cli',
  'copilot-harness-id': 'copilot-sdk',
}

/**
 * GitHub's CLI, which sends its GitHub token as it is. A header that the user has set stays, but for the integration id.
 * Source: docs/copilot-wire.md, "Without exchange".
 * @param configured `copilot.headers`
 */
export function cliIdentity(configured: IdentityHeaders): Identity {
  const own = Object.entries(fixedHeaders(configured)).map(([name, value]): readonly [string, string] => [
    name,
    value === editorHeaders[name] ? (cliHeaders[name] ?? value) : value,
  ])
  return {
    fixed: { ...Object.fromEntries(own.filter(([, value]) => value !== '')), ...cliOnly },
    automatic: {
      ...ofEveryProgram,
      'openai-intent': ({ interaction, path }) =>
        interaction && path !== '/v1/messages' ? 'conversation-agent' : undefined,
      'x-interaction-type': ({ interaction }, initiator) => interaction && typeOfCli(interaction.purpose, initiator),
    },
    ofModelList: { 'openai-intent': 'conversation-agent', 'x-initiator': 'user' },
  }
}

function typeOfCli(purpose: Purpose, initiator: Initiator): string {
  if (purpose !== 'agent' && purpose !== 'panel') return `conversation-${purpose}`
  return initiator === 'user' ? 'conversation-user' : 'conversation-agent'
}
