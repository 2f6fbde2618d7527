import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk'
import type { EditorEvent } from '../../api/events.ts'
import type { EditorAbility } from '../../api/inputs.ts'
import { formOf, likeEditor } from '../../workspace/open-files.ts'
import type { EditorAnswer, TextForm } from '../../workspace/open-files.ts'

/** The daemon does not wait longer. Ms. */
const patienceMs = 10_000

export interface EditorFiles {
  /** What the editor offers. Undefined: nothing, so that tools use the files on disk. */
  readonly ability: EditorAbility | undefined
  /** Asks the editor. The daemon has checked that the file may be read, or has written it. Never rejects. */
  readonly answer: (event: EditorEvent) => Promise<EditorAnswer>
}

/** The files that are open in an editor, with the changes that are not saved. */
export function createEditorFiles(
  sessionId: string,
  {
    root,
    editor,
    capabilities,
  }: {
    /** The folder of the session. */
    readonly root: string
    readonly editor: Pick<AgentContext, 'request'>
    readonly capabilities: ClientCapabilities
  },
): EditorFiles {
  /** How the editor gave its texts, by path: it takes texts of the same form. */
  const forms = new Map<string, TextForm>()
  const { readTextFile = false, writeTextFile = false } = capabilities.fs ?? {}

  async function read(path: string): Promise<EditorAnswer> {
    const { content: text } = await editor.request(
      methods.client.fs.readTextFile,
      { sessionId, path: join(root, path) },
      { cancellationSignal: AbortSignal.timeout(patienceMs), stopWaitingOnCancel: true },
    )
    forms.set(path, formOf(text))
    return { ok: true, text }
  }

  async function write(path: string, sha256: string | undefined): Promise<EditorAnswer> {
    const bytes = await readFile(join(root, path))
    // Something has changed the file since. The editor sees that by itself.
    if (hash('sha256', bytes) !== sha256) return { ok: false }
    await editor.request(
      methods.client.fs.writeTextFile,
      { sessionId, path: join(root, path), content: likeEditor(bytes.toString(), forms.get(path) ?? formOf('')) },
      { cancellationSignal: AbortSignal.timeout(patienceMs), stopWaitingOnCancel: true },
    )
    return { ok: true }
  }

  return {
    ability: readTextFile ? (writeTextFile ? 'write' : 'read') : undefined,
    answer: ({ action, path, sha256 }) =>
      (action === 'read' ? read(path) : write(path, sha256)).catch(() => ({ ok: false })),
  }
}
