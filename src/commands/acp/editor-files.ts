import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk'
import { decideReading } from '../policy.ts'
import type { WorkspaceRules } from '../policy.ts'

/** An editor that is asked for a text may be busy, and the person waits. Ms. */
const patienceMs = 2000

/** Longer files are not compared. Bytes. */
const maxBytes = 1024 * 1024

export interface EditorFiles {
  /**
   * Returns the text of a file in the editor if it differs from the file on disk. Undefined: it does not, or the policy asks or
   * refuses to read the file, or the editor does not tell.
   * @param path relative to the root
   */
  readonly unsavedText: (path: string) => Promise<string | undefined>
}

/** The tools of the daemon read and write the files on disk. An editor may have newer text, which is not saved. */
export function createEditorFiles(
  sessionId: string,
  {
    rules,
    editor,
    capabilities,
  }: {
    readonly rules: WorkspaceRules
    readonly editor: Pick<AgentContext, 'request'>
    readonly capabilities: ClientCapabilities
  },
): EditorFiles {
  async function read(path: string): Promise<string | undefined> {
    if (capabilities.fs?.readTextFile !== true) return undefined
    const { bytes } = await rules.folder.readFile(path, {
      maxBytes,
      // A link may lead to a secret.
      async admit(real) {
        if (!(await decideReading(rules, real)).isAllowed) throw new Error('not readable')
      },
    })
    const { content } = await editor.request(
      methods.client.fs.readTextFile,
      { sessionId, path: join(rules.folder.root, path) },
      { cancellationSignal: AbortSignal.timeout(patienceMs), stopWaitingOnCancel: true },
    )
    return withoutForm(content) === withoutForm(bytes.toString('utf8')) ? undefined : content
  }

  return {
    // Without an answer, the file on disk is the best that is known.
    unsavedText: (path) => read(path).catch(() => undefined),
  }
}

/** Editors keep line ends and the byte order mark apart from the text. */
function withoutForm(text: string): string {
  return text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
}
