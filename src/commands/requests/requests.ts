import { z } from 'zod'
import { CommandFailure, exitCode, writeJson, writeJsonLine } from '../shared/command.ts'
import type { CommandContext, ExitCode, RequestsFlags } from '../shared/command.ts'
import { findDaemon, findCallerKey, getFromDaemon, findCommandKey } from '../shared/find-daemon.ts'
import type { DaemonAddress } from '../shared/find-daemon.ts'
import { visible } from '../../terminal/visible.ts'
import { maxRequests } from '../../usage/requests.ts'
import type { RequestDetail, RequestDocument } from '../../usage/requests.ts'
import { loadSettings } from '../shared/settings.ts'
import { layoutRequests, requestText, requestsHead, requestsRows } from './requests-text.ts'
import type { RequestsLayout } from './requests-text.ts'

const text = z.string().nullable().catch(null)
const amount = z.number().nullable().catch(null)
const texts = z.array(z.string()).catch([])
const isTrue = z.boolean().catch(false)
const fields = {
  id: z.string(),
  time: z.string(),
  client: text,
  user_agent: text,
  key: text,
  api: text,
  method: text,
  path: text,
  asked_model: text,
  model: text,
  route: text,
  fallback: text,
  status: z.number(),
  http_status: z.number(),
  failed: isTrue,
  stream: z.boolean().nullable().catch(null),
  input_tokens: amount,
  output_tokens: amount,
  cached_input_tokens: amount,
  credits: amount,
  search_credits: amount,
  safeguards_credits: amount,
  estimated: isTrue,
  first_byte_ms: amount,
  duration_ms: amount,
  warnings: texts,
  repeated_warnings: texts,
  adapted: texts,
  error: text,
  upstream_request_id: text,
} satisfies Record<keyof RequestDocument, z.ZodType>
const listReply = z.object({ requests: z.array(z.looseObject(fields)) })
const oneReply = z.looseObject({
  ...fields,
  bodies: z.enum(['kept', 'not_kept']),
  request_headers: z.record(z.string(), z.string()).nullable().catch(null),
  request_body: text,
  request_body_truncated: isTrue,
  answer_body: text,
  answer_body_truncated: isTrue,
} satisfies Record<keyof RequestDetail, z.ZodType>)

const errorReply = z.looseObject({ error: z.looseObject({ message: z.string() }) })

const timeoutMs = 5000
/** Polling interval of `--follow`. Ms. */
const pollMs = 500

/** Lists the last requests of the running daemon, follows them, or shows one. */
export async function requests(context: CommandContext, flags: RequestsFlags): Promise<ExitCode> {
  const limit = parseLimit(flags.limit)
  if (flags.id !== undefined && flags.follow) {
    throw new CommandFailure(exitCode.usage, '--follow cannot be used with an ID.')
  }
  const settings = await loadSettings(context, flags.config)
  let isDemo = false
  const find = async (): Promise<DaemonAddress | undefined> => {
    const { url, health } = await findDaemon(context, settings)
    isDemo = health?.demo === true
    return health && { url, key: await findCommandKey(context, settings, url) }
  }
  const address = await find()
  if (address === undefined) {
    throw new CommandFailure(exitCode.failed, 'copilot-proxy is not running. Run: copilot-proxy start')
  }
  const { isAsked } = findCallerKey(context, settings.config) ?? { isAsked: true }
  if (flags.id !== undefined) return showOne(context, address, flags.id, { json: flags.json, isAsked })
  const query = (options: Readonly<Record<string, string>>): string =>
    `/requests?${new URLSearchParams({
      ...(flags.key !== undefined && { key: flags.key }),
      ...(flags.model !== undefined && { model: flags.model }),
      ...(flags.failed && { failed: 'true' }),
      ...options,
    }).toString()}`
  const isFiltered = flags.failed === true || flags.key !== undefined || flags.model !== undefined
  const first = await ask(context, address, query({ limit: String(limit) }))
  if (isDemo && !flags.json) context.stdout.write('copilot-proxy runs with --demo, so all answers are simulated.\n\n')
  const layout = layoutRequests(first, context.now(), context.stdout)
  if (!flags.follow) {
    if (flags.json) writeJson(context, { requests: first })
    else if (first.length === 0) context.stdout.write(isFiltered ? 'No matching requests.\n' : 'No requests yet.\n')
    else writeRows(context, first, layout, { withHead: true })
    return exitCode.done
  }
  if (!flags.json) context.stdout.write(requestsHead(layout, context.stdout))
  const print = (newest: readonly RequestDocument[]): void => {
    if (!flags.json) return writeRows(context, newest, layout, { withHead: false })
    for (const request of newest.toReversed()) writeJsonLine(context, request)
  }
  print(first)
  await follow(context, address, first[0]?.id, { query, find, print })
  return exitCode.done
}

interface Following {
  readonly query: (options: Readonly<Record<string, string>>) => string
  readonly find: () => Promise<DaemonAddress | undefined>
  /** Newest first. */
  readonly print: (newest: readonly RequestDocument[]) => void
}

/** Polls until the reader has left, and waits for a daemon that is restarted. @throws the signal's reason on abort */
async function follow(
  context: CommandContext,
  given: DaemonAddress,
  last: string | undefined,
  { query, find, print }: Following,
): Promise<void> {
  let address: DaemonAddress | undefined = given
  let after = last
  while (!context.stdout.isClosed?.()) {
    await context.sleep(pollMs, context.signal)
    address ??= await find()
    // A daemon that has just started may not have written the owner's token yet.
    if (address?.key === undefined) address = undefined
    if (address === undefined) continue
    try {
      // A restarted daemon does not know the id, and lists everything.
      const path = query({ limit: String(maxRequests), ...(after !== undefined && { after }) })
      const newest = await ask(context, address, path)
      if (newest.length > 0) print(newest)
      after = newest[0]?.id ?? after
    } catch (error) {
      if (!(error instanceof DaemonGone)) throw error
      context.stderr.write('copilot-proxy has stopped. Waiting for it to start again.\n')
      address = undefined
    }
  }
}

function writeRows(
  { stdout, now }: CommandContext,
  newest: readonly RequestDocument[],
  layout: RequestsLayout,
  { withHead }: { readonly withHead: boolean },
): void {
  // The newest is at the bottom, as in a log.
  const rows = requestsRows(newest.toReversed(), now(), layout, stdout)
  stdout.write(`${withHead ? requestsHead(layout, stdout) : ''}${rows}`)
}

async function showOne(
  context: CommandContext,
  address: DaemonAddress,
  id: string,
  { json, isAsked }: { readonly json: true | undefined; readonly isAsked: boolean },
): Promise<ExitCode> {
  const { status, body } = await get(context, address, `/requests/${encodeURIComponent(id)}`)
  if (status === 404) {
    const message = `No request ${visible(JSON.stringify(id))} in the last ${maxRequests} requests. Run: copilot-proxy requests`
    throw new CommandFailure(exitCode.failed, message)
  }
  const request = oneReply.safeParse(body)
  if (!request.success) throw otherVersion(request.error)
  if (json) writeJson(context, request.data)
  else context.stdout.write(requestText(request.data, { url: address.url, isKeyAsked: isAsked }, context.stdout))
  return exitCode.done
}

/** Requests, newest first. @throws CommandFailure; the signal's reason on abort */
async function ask(context: CommandContext, address: DaemonAddress, path: string): Promise<readonly RequestDocument[]> {
  const { body } = await get(context, address, path)
  const list = listReply.safeParse(body)
  if (list.success) return list.data.requests
  throw otherVersion(list.error)
}

/** The daemon does not answer, or is stopping. */
class DaemonGone extends CommandFailure {
  constructor(url: string, options?: ErrorOptions) {
    super(exitCode.failed, `copilot-proxy at ${url} does not answer. Run: copilot-proxy status`, options)
  }
}

async function get(
  context: CommandContext,
  address: DaemonAddress,
  path: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { status, body } = await getFromDaemon(context, address, path, timeoutMs).catch((cause: unknown) => {
    context.signal.throwIfAborted()
    if (cause instanceof CommandFailure) throw cause
    throw new DaemonGone(address.url, { cause })
  })
  if (status >= 500) throw new DaemonGone(address.url)
  // After too many wrong keys.
  if (status === 429) {
    const reason = errorReply.safeParse(body).data?.error.message ?? 'Try again later.'
    throw new CommandFailure(exitCode.failed, `copilot-proxy refused the request. ${visible(reason)}`)
  }
  return { status, body }
}

function otherVersion(cause: unknown): CommandFailure {
  const message = 'The running copilot-proxy is another version. Run: copilot-proxy restart'
  return new CommandFailure(exitCode.failed, message, { cause })
}

/** @throws CommandFailure `usage` */
function parseLimit(given: string): number {
  const limit = Number(given)
  if (/^\d+$/.test(given) && limit >= 1 && limit <= maxRequests) return limit
  const message = `--limit must be a whole number from 1 to ${maxRequests}, got ${visible(JSON.stringify(given))}.`
  throw new CommandFailure(exitCode.usage, message)
}
