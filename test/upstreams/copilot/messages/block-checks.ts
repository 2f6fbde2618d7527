import { anthropicFailure, invalidBody } from '../failures.ts'
import { missingVisionHeader } from '../failures.ts'
import type { InferenceSubject } from '../../inference.ts'
import { openOpaque } from '../../answer/sealed-text.ts'
import type { Outcome } from '../../http/outcome.ts'
import { isOwnSearch } from './pause.ts'
import { blocksOf } from './request.ts'
import type { Block, MessagesRequest } from './request.ts'
import { betasOf, hasVisionHeader } from '../../refusals.ts'
import { ADVANCED_TOOLS } from './tool-checks.ts'
import { extraInput, fieldRequired, unknownTag } from './refusals.ts'

type Subject = InferenceSubject<MessagesRequest>

interface PlacedBlock {
  /** E.g. `messages.1.content.0`. */
  readonly path: string
  readonly role: string
  readonly block: Block
  /** Whether the block is in a tool result. */
  readonly isInner: boolean
}

/** Every block of the request in order, including those in tool results. */
function* placedBlocks({ messages }: MessagesRequest): Generator<PlacedBlock> {
  for (const [at, message] of messages.entries()) {
    if (typeof message.content === 'string') continue
    for (const [number, block] of message.content.entries()) {
      const path = `messages.${at}.content.${number}`
      yield { path, role: message.role, block, isInner: false }
      if (!Array.isArray(block.content) || isOwnSearch(block)) continue
      for (const [inner, each] of block.content.entries()) {
        yield {
          path: `${path}.${block.type}.content.${inner}`,
          role: message.role,
          block: { ...each, content: undefined },
          isInner: true,
        }
      }
    }
  }
}

/** Members of each type of block. */
const MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['document', ['source', 'title', 'context', 'citations', 'cache_control']],
  ['image', ['source', 'cache_control']],
  ['redacted_thinking', ['data']],
  ['search_result', ['source', 'title', 'content', 'citations', 'cache_control']],
  ['text', ['text', 'citations', 'cache_control']],
  ['thinking', ['thinking', 'signature']],
  ['tool_reference', ['tool_name', 'cache_control']],
  ['tool_result', ['tool_use_id', 'content', 'is_error', 'cache_control']],
  ['tool_use', ['id', 'name', 'input', 'caller', 'cache_control']],
])

const USER = ['document', 'image', 'search_result', 'text', 'tool_result']
const ASSISTANT = ['redacted_thinking', 'text', 'thinking', 'tool_use']
const RESULT = ['document', 'image', 'search_result', 'text', 'tool_reference']

const ID = /^[a-zA-Z0-9_-]+$/
const NAME = /^[a-zA-Z0-9_-]{1,128}$/

export function checkBlocks(subject: Subject): Outcome | undefined {
  for (const placed of placedBlocks(subject.request)) {
    const refusal = refuseBlock(placed, subject)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function refuseBlock({ path, role, block, isInner }: PlacedBlock, subject: Subject): Outcome | undefined {
  const { call, markers, request } = subject
  const { type } = block
  if (markers.others.has('pause') && role === 'assistant' && isOwnSearch(block)) return undefined
  // A call of a server tool, which upstream does not run here.
  if (type === 'server_tool_use') return invalidBody(`Tool '${block.name}' not found in provided tools`)
  const isAdvanced = betasOf(call).includes(ADVANCED_TOOLS)
  const known = isInner ? RESULT.filter((tag) => isAdvanced || tag !== 'tool_reference') : ofRole(role)
  if (!known.includes(type)) return unknownTag(path, type, known)
  const members = MEMBERS.get(type) ?? []
  const extra = Object.keys(block).find((key) => block[key] !== undefined && key !== 'type' && !members.includes(key))
  if (extra !== undefined) return extraInput(`${path}.${type}.${extra}`)
  switch (type) {
    case 'tool_use':
      return refuseToolUse(block, path)
    case 'tool_result':
      return block.tool_use_id === undefined ? fieldRequired(`${path}.tool_result.tool_use_id`) : undefined
    case 'image':
    case 'document':
      return refuseSource(block, path)
    case 'tool_reference':
      return (request.tools ?? []).some(({ name }) => name === block.tool_name)
        ? undefined
        : invalidBody(`Tool reference '${block.tool_name}' not found in available tools`)
    default:
      return undefined
  }
}

function ofRole(role: string): readonly string[] {
  if (role === 'assistant') return ASSISTANT
  return role === 'system' ? ['text'] : USER
}

function refuseToolUse({ id, name, input }: Block, path: string): Outcome | undefined {
  if (id === undefined) return fieldRequired(`${path}.tool_use.id`)
  if (!ID.test(id)) return invalidBody(`${path}.tool_use.id: String should match pattern '${ID.source}'`)
  if (!NAME.test(name ?? '')) return invalidBody(`${path}.tool_use.name: String should match pattern '${NAME.source}'`)
  if (input === undefined) return fieldRequired(`${path}.tool_use.input`)
  return typeof input === 'object' && input !== null && !Array.isArray(input)
    ? undefined
    : invalidBody(`${path}.tool_use.input: Input should be a valid dictionary`)
}

const PICTURES = ['image/gif', 'image/jpeg', 'image/png', 'image/webp']
const DOCUMENTS = ['application/pdf']

function refuseSource({ type, source }: Block, path: string): Outcome | undefined {
  if (typeof source !== 'object') return fieldRequired(`${path}.${type}.source`)
  if (source.type !== 'base64') return unknownTag(`${path}.${type}.source`, source.type, ['base64'])
  const accepted = type === 'image' ? PICTURES : DOCUMENTS
  return accepted.includes(source.media_type ?? '')
    ? undefined
    : invalidBody(
        `${path}.${type}.source.base64.media_type: Input should be ${accepted.map((each) => `'${each}'`).join(' or ')}`,
      )
}

const MOST_MARKS = 4

export function checkCacheMarks(subject: Subject): Outcome | undefined {
  const { call, request } = subject
  const members = betasOf(call).includes('extended-cache-ttl-2025-04-11') ? ['type', 'ttl'] : ['type']
  const { system = [], tools = [] } = request
  const marks = [
    ...tools.map((tool, at) => ({ path: `tools.${at}.custom`, mark: tool.cache_control })),
    ...(typeof system === 'string' ? [] : system).map((block, at) => ({
      path: `system.${at}`,
      mark: block.cache_control,
    })),
    ...[...placedBlocks(request)].map(({ path, block }) => ({
      path: `${path}.${block.type}`,
      mark: block.cache_control,
    })),
  ].filter(({ mark }) => mark !== undefined)
  for (const { path, mark = { type: '' } } of marks) {
    if (mark.type !== 'ephemeral') return unknownTag(`${path}.cache_control`, mark.type, ['ephemeral'])
    const extra = Object.keys(mark).find((key) => !members.includes(key))
    if (extra !== undefined) return extraInput(`${path}.cache_control.ephemeral.${extra}`)
  }
  return marks.length > MOST_MARKS
    ? invalidBody(`A maximum of ${MOST_MARKS} blocks with cache_control may be provided. Found ${marks.length}.`)
    : undefined
}

export function checkImages({ call, request }: Subject): Outcome | undefined {
  if (hasVisionHeader(call)) return undefined
  for (const { block } of placedBlocks(request)) if (block.type === 'image') return missingVisionHeader()
  return undefined
}

/**
 * Thinking has to come back unchanged: signed by this upstream, with its text, or without text if upstream sent none.
 */
export function checkThoughts({ request }: Subject): Outcome | undefined {
  for (const [at, message] of request.messages.entries()) {
    if (message.role !== 'assistant') continue
    for (const [number, block] of blocksOf(message).entries()) {
      const refusal = refuseThought(block, `messages.${at}.content.${number}`)
      if (refusal !== undefined) return refusal
    }
  }
  return undefined
}

function refuseThought({ type, thinking, signature, data }: Block, path: string): Outcome | undefined {
  if (type === 'redacted_thinking') {
    return openOpaque('redacted', data ?? '') === undefined
      ? backendRefusal(`${path}: Invalid data in redacted_thinking block`)
      : undefined
  }
  if (type !== 'thinking') return undefined
  if (thinking === undefined || (thinking === '' && (signature ?? '') === '')) {
    return backendRefusal(`${path}: each thinking block must contain thinking`)
  }
  if (signature === undefined) return fieldRequired(`${path}.thinking.signature`)
  const opened = openOpaque('signature', signature)
  if (opened === undefined || !(thinking === '' || opened.isOf(thinking))) {
    return backendRefusal(`${path}: Invalid signature in thinking block`)
  }
  return undefined
}

function backendRefusal(message: string): Outcome {
  return anthropicFailure(400, 'invalid_request_error', message)
}
