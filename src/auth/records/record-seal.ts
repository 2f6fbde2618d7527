import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Keychain } from './keychain.ts'
import { parseJson } from '../../json/json.ts'

/** The result of opening a sealed file. */
type Opened =
  | { readonly kind: 'text'; readonly text: Uint8Array }
  /** Its key is not in the keychain. */
  | { readonly kind: 'no_key' }
  /** `why` ends the sentence “the file is not usable: …”. */
  | { readonly kind: 'damaged'; readonly why: string }

/**
 * Encrypts record files, so that they are useless without the keychain. The keychain holds one key for each login. It
 * is written at login and logout, never when a token is renewed. So a renewal is still one atomic replacement of one
 * file, a keychain that is locked later stops no running process, and no entry comes near the limits of keychains
 * (2,560 bytes on Windows, less than a ChatGPT login).
 *
 * One process uses a record at a time, under its lock: first `open` for the present file, then `seal` for its
 * replacement.
 */
export interface RecordSeal {
  /** @throws RecordStoreError `keychain` */
  readonly open: (id: string, sealed: Uint8Array) => Promise<Opened>
  /**
   * Uses the key of the file that was opened last, or makes one if there was none.
   * @throws as `open`
   */
  readonly seal: (id: string, text: string) => Promise<string>
  /** Removes the key of a record that does not exist (any more) from memory. */
  readonly forget: (id: string) => void
  /**
   * Removes the key of a deleted file from the keychain.
   * @throws as `open`
   */
  readonly destroyKey: (id: string, sealed: Uint8Array) => Promise<void>
}

/**
 * `entry` is the name of the key's entry in the keychain. Each login gets a new one, so that two installations, or an
 * old and a new login, never share or destroy each other's key.
 */
const sealedFile = z.object({ entry: z.string(), iv: z.base64(), tag: z.base64(), text: z.base64() })
type SealedFile = z.infer<typeof sealedFile>

interface Key {
  readonly entry: string
  readonly bytes: Buffer
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

export function createRecordSeal(keychain: Keychain): RecordSeal {
  const keys = new Map<string, Key>()

  const keyOf = async (id: string, entry: string): Promise<Key | undefined> => {
    const known = keys.get(id)
    if (known?.entry === entry) return known
    const bytes = Buffer.from((await keychain.get(entry)) ?? '', 'base64')
    if (bytes.length !== KEY_BYTES) return undefined
    const key = { entry, bytes }
    keys.set(id, key)
    return key
  }

  const makeKey = async (id: string): Promise<Key> => {
    const key = { entry: `${id} ${randomBytes(8).toString('hex')}`, bytes: randomBytes(KEY_BYTES) }
    await keychain.set(key.entry, key.bytes.toString('base64'))
    keys.set(id, key)
    return key
  }

  return {
    async open(id, sealed) {
      const file = parseSealed(id, sealed)
      if (file === undefined) return { kind: 'damaged', why: 'it is not a complete sealed login' }
      const key = await keyOf(id, file.entry)
      if (key === undefined) {
        keys.delete(id)
        return { kind: 'no_key' }
      }
      const text = decrypt(id, file, key.bytes)
      return text === undefined
        ? { kind: 'damaged', why: 'it was changed since it was sealed' }
        : { kind: 'text', text }
    },
    async seal(id, text) {
      const key = keys.get(id) ?? (await makeKey(id))
      return `${JSON.stringify(encrypt(id, text, key))}\n`
    },
    forget: (id) => void keys.delete(id),
    async destroyKey(id, sealed) {
      keys.delete(id)
      const file = parseSealed(id, sealed)
      if (file !== undefined) await keychain.remove(file.entry)
    },
  }
}

/**
 * Undefined for anything but a sealed file of this record. No other entry of the keychain is read or removed for it.
 */
function parseSealed(id: string, bytes: Uint8Array): SealedFile | undefined {
  const parsed = sealedFile.safeParse(parseJson(new TextDecoder().decode(bytes)))
  if (!parsed.success || !parsed.data.entry.startsWith(`${id} `)) return undefined
  return /^[0-9a-f]{16}$/.test(parsed.data.entry.slice(id.length + 1)) ? parsed.data : undefined
}

function encrypt(id: string, text: string, { entry, bytes }: Key): SealedFile {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, bytes, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(id))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return {
    entry,
    iv: iv.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    text: sealed.toString('base64'),
  }
}

/** Undefined if the text was not sealed with this key under this id. */
function decrypt(id: string, { iv, tag, text }: SealedFile, key: Buffer): Buffer | undefined {
  try {
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(iv, 'base64'), { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(id)).setAuthTag(Buffer.from(tag, 'base64'))
    return Buffer.concat([decipher.update(text, 'base64'), decipher.final()])
  } catch {
    return undefined
  }
}
