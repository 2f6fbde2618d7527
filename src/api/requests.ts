import { z } from 'zod'
import type { Body } from './body.ts'

/** A request in `GET /requests`. Null: not known, or it does not apply. */
const requestDocument = z.object({
  id: z.string(),
  /** When it arrived: ISO 8601. */
  time: z.string(),
  client: z.string().nullable(),
  user_agent: z.string().nullable(),
  key: z.string().nullable(),
  api: z.string().nullable(),
  method: z.string().nullable(),
  path: z.string().nullable(),
  asked_model: z.string().nullable(),
  model: z.string().nullable(),
  route: z.string().nullable(),
  /** The fallback of an alias that answered, with the statuses of the models before it: `gpt-4.1 (429)`. */
  fallback: z.string().nullable(),
  /** As in the log and the metrics: a stream that broke has the status of its failure, and 499 if the caller left. */
  status: z.number(),
  /** The status in the head of the answer. */
  http_status: z.number(),
  failed: z.boolean(),
  stream: z.boolean().nullable(),
  input_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  cached_input_tokens: z.number().nullable(),
  credits: z.number().nullable(),
  search_credits: z.number().nullable(),
  safeguards_credits: z.number().nullable(),
  estimated: z.boolean(),
  first_byte_ms: z.number().nullable(),
  duration_ms: z.number().nullable(),
  /** The parts of the request that could not be carried over: `dropped;temperature (…)`. */
  warnings: z.array(z.string()),
  /** Those of `warnings` that an earlier request of the caller's conversation in this list has too. */
  repeated_warnings: z.array(z.string()),
  /** Changes that lose nothing of the request. */
  adapted: z.array(z.string()),
  error: z.string().nullable(),
  upstream_request_id: z.string().nullable(),
})
export type RequestDocument = Body<typeof requestDocument>

/** `GET /requests`, newest first. */
export const requestList = z.object({ requests: z.array(requestDocument) })
export type RequestListBody = Body<typeof requestList>

/** `GET /requests/{id}`: also the bodies, which are kept while `log.bodies` is on. */
export const requestDetail = requestDocument.extend({
  bodies: z.enum(['kept', 'not_kept']),
  /** By name, without those that hold credentials. */
  request_headers: z.record(z.string(), z.string()).nullable(),
  request_body: z.string().nullable(),
  request_body_truncated: z.boolean(),
  answer_body: z.string().nullable(),
  answer_body_truncated: z.boolean(),
})
export type RequestDetail = Body<typeof requestDetail>
