import { constants } from 'node:fs'
import type * as nodeFs from 'node:fs/promises'
import { z } from 'zod'
import { parseJson } from '../http-json.ts'
import { errnoOf } from '../records/record-fs.ts'

/** The file is a few KB; more than this is not one of Codex CLI's. Bytes. */
const MAX_FILE_BYTES = 1024 * 1024

/** The part of node:fs/promises that is used; nothing in it can change a file. */
export type CliFileFs = Pick<typeof nodeFs, 'open' | 'stat'>

/** What Codex CLI's `auth.json` holds (docs/codex-wire.md, "Stored login of Codex CLI"). */
export type CliFile =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'chatgpt'
      readonly accessToken: string
      readonly idToken?: string
      readonly accountId?: string
    }
  /** The CLI uses an API key, which is not used here. */
  | { readonly kind: 'api-key' }
  /** No login that can be used here. `mode` is the CLI's name for it, harmless; '' if it has none. */
  | { readonly kind: 'other'; readonly mode: string }
  /** Not JSON: half written, or broken. */
  | { readonly kind: 'partial' }
  /** `code` is the file system's. */
  | { readonly kind: 'unreadable'; readonly code: string }

const text = z.string().min(1).nullish().catch(null)

const authFile = z.looseObject({
  auth_mode: text,
  OPENAI_API_KEY: text,
  tokens: z.looseObject({ id_token: text, access_token: text, account_id: text }).nullish().catch(null),
})

/**
 * Reads the file at `path`, also through a link: people link their dotfiles. Never writes, and does not look at the
 * refresh token, which belongs to the CLI. Every ending is a value.
 */
export async function readCliFile(fs: CliFileFs, path: string): Promise<CliFile> {
  try {
    // NONBLOCK: a FIFO in its place does not block.
    const file = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile() || stat.size > MAX_FILE_BYTES) return { kind: 'other', mode: '' }
      return toCliFile(await file.readFile('utf8'))
    } finally {
      await file.close()
    }
  } catch (error) {
    const code = errnoOf(error)
    return code === 'ENOENT' || code === 'ENOTDIR' ? { kind: 'absent' } : { kind: 'unreadable', code }
  }
}

/** Changes when the file is replaced, rewritten, added or removed, by whatever name it is reached. */
export async function signCliFile(fs: CliFileFs, path: string): Promise<string> {
  try {
    const { dev, ino, mtimeMs, size } = await fs.stat(path)
    return `${dev} ${ino} ${mtimeMs} ${size}`
  } catch (error) {
    return errnoOf(error)
  }
}

function toCliFile(content: string): CliFile {
  const value = parseJson(content)
  if (value === undefined) return { kind: 'partial' }
  const parsed = authFile.safeParse(value)
  if (!parsed.success) return { kind: 'other', mode: '' }
  const { auth_mode: stated, OPENAI_API_KEY: key, tokens } = parsed.data
  // Files of old versions do not state the mode: a key goes before tokens then, as it does for the CLI.
  const mode = stated?.toLowerCase() ?? (key ? 'apikey' : 'chatgpt')
  if (mode === 'apikey') return { kind: 'api-key' }
  if (mode !== 'chatgpt' || !tokens?.access_token) {
    return { kind: 'other', mode: stated && /^\w{1,40}$/.test(stated) ? stated : '' }
  }
  return {
    kind: 'chatgpt',
    accessToken: tokens.access_token,
    ...(tokens.id_token && { idToken: tokens.id_token }),
    ...(tokens.account_id && { accountId: tokens.account_id }),
  }
}
