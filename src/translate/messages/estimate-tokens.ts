import type { CallerRequest } from '../dialect.ts'
import { isBlock, messagesBodyOf, type MediaSource, type MessagesBlock } from './wire-request.ts'

/** What a token count is estimated from. */
export interface CountedTexts {
  readonly texts: readonly string[]
  /** Images and documents: what does not count by its letters. */
  readonly images: number
}

/** Everything the model reads, without data in base64, signatures and ciphertext. */
export function textsOfMessages(request: CallerRequest): CountedTexts {
  const { value } = messagesBodyOf(request)
  const texts: string[] = []
  let images = 0

  function addContent(content: unknown): void {
    if (typeof content === 'string') texts.push(content)
    // Blocks, as everywhere under `content`: check-messages.ts has looked.
    else if (Array.isArray(content)) content.forEach(addBlock)
  }

  function addBlock(block: MessagesBlock): void {
    if (isBlock(block, 'text')) texts.push(block.text)
    else if (isBlock(block, 'thinking')) texts.push(block.thinking)
    else if (isBlock(block, 'tool_use') || isBlock(block, 'server_tool_use')) {
      texts.push(block.name, JSON.stringify(block.input ?? {}))
    } else if (isBlock(block, 'tool_result')) addContent(block.content)
    else if (isBlock(block, 'image')) images += 1
    else if (isBlock(block, 'document')) {
      addTexts(block.title, block.context)
      addSource(block.source)
    } else if (isBlock(block, 'search_result')) {
      addTexts(block.title, block.source)
      addContent(block.content)
    } else if (isBlock(block, 'tool_reference')) texts.push(block.tool_name)
    else if (typeof block['content'] === 'string') texts.push(block['content'])
  }

  function addSource({ type, data, content }: MediaSource): void {
    if (type === 'text') addTexts(data)
    else if (type === 'content') addContent(content)
    else images += 1
  }

  function addTexts(...found: readonly (string | null | undefined)[]): void {
    for (const text of found) if (typeof text === 'string' && text !== '') texts.push(text)
  }

  addContent(value.system)
  for (const { name, description, input_schema: schema } of value.tools ?? []) {
    texts.push(JSON.stringify({ name, description, input_schema: schema }))
  }
  for (const { content } of value.messages) addContent(content)
  return { texts, images }
}
