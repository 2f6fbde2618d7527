import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContentBlock } from '@agentclientprotocol/sdk'
import type { Attachment, MessageInput } from '../api/inputs.ts'

/** The part of a message that a prompt states. */
export type PromptMessage = Required<Pick<MessageInput, 'text' | 'attachments'>>

/** A prompt that cannot be sent. The message is a sentence. */
export class PromptProblem extends Error {}

const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/**
 * Turns the content of a prompt into a message: a link to a file becomes a mention, with which the agent reads it, and text and images
 * that come with the prompt become attachments.
 * @param root the folder of the session
 * @throws PromptProblem
 */
export function toMessage(root: string, prompt: readonly ContentBlock[]): PromptMessage {
  const texts: string[] = []
  const attachments: Attachment[] = []

  function image(data: string, mediaType: string, name: string): void {
    if (!imageTypes.has(mediaType)) {
      throw new PromptProblem(`An image must be PNG, JPEG, GIF or WebP, and not ${JSON.stringify(mediaType)}.`)
    }
    attachments.push({ name, mediaType, base64: data })
  }

  for (const block of prompt) {
    switch (block.type) {
      case 'text':
        texts.push(block.text)
        break
      case 'resource_link': {
        const path = pathIn(root, block.uri)
        texts.push(
          path === undefined ? `[${block.title ?? block.name}](${block.uri})` : mentionAfter(texts.at(-1) ?? '', path),
        )
        break
      }
      case 'resource': {
        const { resource } = block
        const name = nameOf(root, resource.uri)
        const mediaType = (resource.mimeType ?? 'text/plain').slice(0, 100)
        if ('text' in resource) attachments.push({ name, mediaType, text: resource.text })
        else if (imageTypes.has(mediaType)) image(resource.blob, mediaType, name)
        else throw new PromptProblem(`${name} is ${mediaType}. Only text and images can be attached.`)
        texts.push(name)
        break
      }
      case 'image':
        image(
          block.data,
          block.mimeType,
          typeof block.uri === 'string' ? nameOf(root, block.uri) : `image-${attachments.length + 1}`,
        )
        break
      case 'audio':
        throw new PromptProblem('Audio cannot be attached.')
    }
  }
  const text = texts.join('').trim()
  if (text === '' && attachments.length === 0) throw new PromptProblem('The prompt is empty.')
  return { text: text === '' ? 'See what is attached.' : text, attachments }
}

/** A mention begins a word, and its name is quoted if it could end early. */
function mentionAfter(before: string, path: string): string {
  if (path.includes('"')) return path
  const space = /(?:^|\s)$/.test(before) ? '' : ' '
  return `${space}@${/^[\w/.-]*\w$/.test(path) ? path : `"${path}"`}`
}

/** The longest name of an attachment. Characters. */
const maxName = 300

/** A file of the folder by its path, with the lines that the editor has selected; anything else by its URI. */
function nameOf(root: string, uri: string): string {
  const hash = uri.includes('#') ? uri.slice(uri.indexOf('#')) : ''
  const path = pathIn(root, uri)
  return (path === undefined ? uri : path + hash).slice(-maxName).toWellFormed()
}

/** Returns undefined for anything but a file inside the folder. */
function pathIn(root: string, uri: string): string | undefined {
  try {
    const url = new URL(uri)
    url.hash = ''
    url.search = ''
    const path = relative(root, fileURLToPath(url))
    return path === '' || path === '..' || path.startsWith(`..${sep}`) ? undefined : path.replaceAll(sep, '/')
  } catch {
    return undefined
  }
}
