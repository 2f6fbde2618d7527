import type { EncodeContext } from '../dialect.ts'
import { fieldLesson } from './lessons.ts'
import type { ChatRequest } from './wire-request.ts'

/** The routed model's own id, always a stream, and usage always asked for: the reply is made from the events. */
export function toUpstream(request: ChatRequest, { model, lessons }: EncodeContext): ChatRequest {
  const takesOptions = !lessons.has(fieldLesson('stream_options'))
  return {
    ...request,
    model: model.id,
    stream: true,
    stream_options: takesOptions ? withUsage(request.stream_options) : undefined,
  }
}

function withUsage(options: ChatRequest['stream_options']): ChatRequest['stream_options'] {
  return options?.include_usage === true ? options : { ...options, include_usage: true }
}
