import type { UpstreamDialectId } from '../../../src/translate/dialect.ts'

/** One answer in an upstream dialect, as SSE frames made one by one. */
export interface WireAnswer {
  readonly open: () => string
  readonly text: (piece: string) => string
  /** The tool call in several frames, after the text. */
  readonly call: (callArguments: string) => readonly string[]
  readonly close: () => string
  readonly error: () => string
}

const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const event = (type: string, fields: object): string => `event: ${type}\n${frame({ type, ...fields })}`

/** The arguments in pieces, as models write them. */
function inPieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,12}/gu) ?? []
}

function chatAnswer(id: string): WireAnswer {
  const chunk = (delta: object, reason: string | null = null): string =>
    frame({
      id: `chatcmpl-${id}`,
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'soak',
      choices: [{ index: 0, delta, finish_reason: reason }],
    })
  const callDelta = (fields: object): string => chunk({ tool_calls: [{ index: 0, ...fields }] })
  let reason = 'stop'
  return {
    open: () => chunk({ role: 'assistant', content: '' }),
    text: (content) => chunk({ content }),
    call(text) {
      reason = 'tool_calls'
      const head = { id: `call_${id}`, type: 'function', function: { name: 'read', arguments: '' } }
      return [callDelta(head), ...inPieces(text).map((piece) => callDelta({ function: { arguments: piece } }))]
    },
    close: () => `${chunk({}, reason)}data: [DONE]\n\n`,
    error: () => frame({ error: { code: 'server_error', message: 'soak' } }),
  }
}

/** The end of a block of the Messages API. */
function stop(index: number): string {
  return event('content_block_stop', { index })
}

function messagesAnswer(id: string): WireAnswer {
  let reason = 'end_turn'
  let open = 0
  return {
    open: () =>
      event('message_start', {
        message: {
          id: `msg_${id}`,
          type: 'message',
          role: 'assistant',
          model: 'soak',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }) + event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    text: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    call(text) {
      reason = 'tool_use'
      open = 1
      const block = { type: 'tool_use', id: `toolu_${id}`, name: 'read', input: {} }
      return [
        stop(0) + event('content_block_start', { index: 1, content_block: block }),
        ...inPieces(text).map((partial_json) =>
          event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json } }),
        ),
      ]
    },
    close: () =>
      stop(open) +
      event('message_delta', {
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: 7 },
      }) +
      event('message_stop', {}),
    error: () => event('error', { error: { type: 'overloaded_error', message: 'soak' } }),
  }
}

function responsesAnswer(id: string): WireAnswer {
  let number = 0
  const numbered = (type: string, fields: object): string => {
    number += 1
    return event(type, { sequence_number: number - 1, ...fields })
  }
  const base = { id: `resp_${id}`, object: 'response', created_at: 1_790_000_000, model: 'soak' }
  const message = (text: string, status: string) => ({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    status,
    content: status === 'completed' ? [{ type: 'output_text', text, annotations: [] }] : [],
  })
  const place = { item_id: `msg_${id}`, output_index: 0, content_index: 0 }
  let said = ''
  const output: object[] = []
  const closeText = (): string => {
    if (output.length > 0) return ''
    const item = message(said, 'completed')
    output.push(item)
    return (
      numbered('response.output_text.done', { ...place, text: said }) +
      numbered('response.content_part.done', { ...place, part: item.content[0] }) +
      numbered('response.output_item.done', { output_index: 0, item })
    )
  }
  return {
    open: () =>
      numbered('response.created', { response: { ...base, status: 'in_progress', output: [] } }) +
      numbered('response.output_item.added', { output_index: 0, item: message('', 'in_progress') }) +
      numbered('response.content_part.added', { ...place, part: { type: 'output_text', text: '', annotations: [] } }),
    text(delta) {
      said += delta
      return numbered('response.output_text.delta', { ...place, delta })
    },
    call(text) {
      const item = { id: `fc_${id}`, type: 'function_call', call_id: `call_${id}`, name: 'read' }
      const at = { item_id: item.id, output_index: 1 }
      const done = { ...item, arguments: text, status: 'completed' }
      const opening = closeText()
      output.push(done)
      return [
        opening +
          numbered('response.output_item.added', {
            output_index: 1,
            item: { ...item, arguments: '', status: 'in_progress' },
          }),
        ...inPieces(text).map((delta) => numbered('response.function_call_arguments.delta', { ...at, delta })),
        numbered('response.function_call_arguments.done', { ...at, arguments: text }) +
          numbered('response.output_item.done', { output_index: 1, item: done }),
      ]
    },
    close: () =>
      closeText() +
      numbered('response.completed', {
        response: {
          ...base,
          status: 'completed',
          output,
          usage: { input_tokens: 1, output_tokens: 7, total_tokens: 8 },
        },
      }),
    error: () =>
      numbered('response.failed', {
        response: { ...base, status: 'failed', output: [], error: { code: 'server_error', message: 'soak' } },
      }),
  }
}

/** Answers of the simulated upstream, by the path they are asked on. */
export const wireAnswers: Readonly<Record<UpstreamDialectId, (id: string) => WireAnswer>> = {
  chat: chatAnswer,
  responses: responsesAnswer,
  messages: messagesAnswer,
}
