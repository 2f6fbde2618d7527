import { textReply } from '../../http/outcome.ts'
import { CHAT, isAny, MESSAGES, RESPONSES } from './row.ts'
import type { RefusalRow } from './row.ts'

/** What only one official client sends: a header and its value. */
const SIGNS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  'Copilot CLI': {
    'copilot-integration-id': /^copilot-developer-cli$/,
    'editor-version': /^copilot\//,
    'user-agent': /^copilot\//,
    'copilot-harness-id': /./,
  },
  'VS Code': {
    'copilot-integration-id': /^vscode-chat$/,
    'editor-version': /^vscode\//,
    'editor-plugin-version': /^copilot-chat\//,
    'user-agent': /^GitHubCopilotChat\//,
  },
  'the language server': {
    'copilot-language-server-version': /./,
    'user-agent': /^GithubCopilot\//,
  },
  opencode: { 'user-agent': /^opencode\// },
}

export const identityRow: RefusalRow = {
  id: 'mixed identities',
  routes: [CHAT, RESPONSES, MESSAGES],
  models: isAny,
  // A guess: nobody has reported it. It shows a program that names itself as two clients.
  scope: 'some hosts',
  source: 'official-clients, "Headers, model host": each client sends one identity whole',
  judge: ({ header }) => {
    const clients = Object.entries(SIGNS).flatMap(([client, signs]) =>
      Object.entries(signs).some(([name, value]) => value.test(header(name) ?? '')) ? [client] : [],
    )
    return clients.length > 1 ? `bad request: headers of ${clients.join(' and ')} in one request` : undefined
  },
  reply: (words) => textReply(400, words),
}
