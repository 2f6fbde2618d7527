import { z } from 'zod'
import { itemsOf, responsesTool, typeOf } from '../copilot/responses/request.ts'
import type { ResponsesRequest, ResponsesTool } from '../copilot/responses/request.ts'

const liteTools = z.array(responsesTool)

/** Tools that a request in the lite form has in its input. */
export function liteToolsOf(request: ResponsesRequest): readonly ResponsesTool[] {
  return itemsOf(request).flatMap((item) =>
    typeOf(item) === 'additional_tools' ? (liteTools.safeParse(item['tools']).data ?? []) : [],
  )
}

/** The request with the tools of the lite form moved to `tools`, as in the standard form. */
export function withLiteTools(request: ResponsesRequest): ResponsesRequest {
  const tools = liteToolsOf(request)
  return tools.length === 0 ? request : { ...request, tools: [...(request.tools ?? []), ...tools] }
}
