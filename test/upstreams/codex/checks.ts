import { openaiError } from './failures.ts'
import type { CodexChecks } from './request.ts'
import type { Markers } from '../answer/markers.ts'
import { paramOf } from '../copilot/responses/refusals.ts'
import { firstIssue } from '../refusals.ts'
import { refuseChatgptMembers, refusePublicMembers, refuseRequest } from './body-checks.ts'
import { refuseUnknownModel } from './key-api.ts'
import { invalid, missing } from './refusals.ts'
import type { CodexUpstreamSettings } from './settings.ts'

/** The refusals of prompts by the real ChatGPT backend and key API. The first reason counts. */
export function createCodexChecks(settings: () => CodexUpstreamSettings): CodexChecks {
  return {
    refuseMembers: (members, call) => {
      if (call.api === 'api-key') return refusePublicMembers(members) ?? refuseUnknownModel(members.model)
      return refuseChatgptMembers(members)
    },
    wrongShape: (issues, body) => {
      const { path, got, want = 'something else' } = firstIssue(issues, body)
      const param = paramOf(path)
      if (got === 'nothing' || param === 'model') return missing(param)
      const message = `Invalid type for '${param}': expected ${want}, but got ${got} instead.`
      return openaiError(400, { message, code: 'invalid_type', param })
    },
    refuse: (subject) => {
      const { call, request } = subject
      // The real key API answers such a request with one body. The simulation only streams, because the proxy always
      // requests a stream.
      if (call.api === 'api-key' && request.stream !== true) return invalid('Simulated Codex only streams.', 'stream')
      return refuseRequest(subject, settings().liteOnly)
    },
    amendMarkers: (markers) => withFailure(markers, settings().failure),
  }
}

/** Treats the configured failure like one that a marker requests: inside a 200, or in place of it. */
function withFailure(markers: Markers, failure: CodexUpstreamSettings['failure']): Markers {
  if (failure === undefined) return markers
  const { status, code } = failure
  const codes = code === undefined ? [] : [code]
  if (status === 200) return { ...markers, asked: new Map([...markers.asked, ['failed', codes]]) }
  return { ...markers, asked: new Map([['error', [String(status), ...codes]], ...markers.asked]) }
}
