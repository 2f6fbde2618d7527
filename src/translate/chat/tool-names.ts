import { isObject } from '../parts/wire-json.ts'
import type { ChatMessage, ChatRequest } from './wire-request.ts'

/** What upstream takes as a name (docs/copilot-wire.md, "Parameters by model"). Characters. */
export const LONGEST_TOOL_NAME = 64

/** An empty name is nothing that a translation could mend: upstream's own 400 is the clearer answer. */
const takenNames = new RegExp(`^[a-zA-Z0-9_-]{0,${LONGEST_TOOL_NAME}}$`)

/** Whether upstream takes every name of a tool: those that are offered, and those the history calls. */
export function takesToolNames({ tools, functions, messages }: ChatRequest): boolean {
  return (
    (tools ?? []).every((tool) => isTaken(tool.function) && isTaken(tool.custom)) &&
    (functions ?? []).every(isTaken) &&
    messages.every(callsTakenNames)
  )
}

function callsTakenNames({ role, tool_calls: calls, function_call: call }: ChatMessage): boolean {
  if (role !== 'assistant') return true
  return isTaken(call) && (calls ?? []).every((each) => isTaken(each['function']) && isTaken(each['custom']))
}

function isTaken(named: unknown): boolean {
  const name = isObject(named) ? named['name'] : undefined
  return typeof name !== 'string' || takenNames.test(name)
}
