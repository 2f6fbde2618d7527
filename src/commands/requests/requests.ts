import type { z } from 'zod'
import { requestDetail, requestList } from '../../api/requests.ts'
import { CommandFailure, exitCode, writeJson, writeJsonLine } from '../shared/command.ts'
import type { CommandContext, ExitCode, RequestsFlags } from '../shared/command.ts'
import { findCallerKey } from '../shared/find-daemon.ts'
import { visible } from '../../terminal/visible.ts'
import { maxRequests } from '../../usage/requests.ts'
import type { RequestDocument } from '../../api/requests.ts'
import { loadSettings } from '../shared/settings.ts'
import { DaemonGone, openDaemonView, requireDaemonView, RouteRefused } from '../shared/view.ts'
import type { RemoteView } from '../shared/view.ts'
import { formatHead } from '../../terminal/table.ts'
import { layoutRequests, requestText, requestsRows } from './requests-text.ts'
import type { RequestsLayout } from './requests-text.ts'

/** Polling interval of `--follow`. Ms. */
const pollMs = 500

/** Lists the last requests of the running daemon, follows them, or shows one. */
export async function requests(context: CommandContext, flags: RequestsFlags): Promise<ExitCode> {
  const limit = parseLimit(flags.limit)
  if (flags.id !== undefined && flags.follow) {
    throw new CommandFailure(exitCode.usage, '--follow cannot be used with an ID.')
  }
  const settings = await loadSettings(context, flags.config)
  const find = (): Promise<RemoteView | undefined> => openDaemonView(context, settings)
  const view = await requireDaemonView(context, settings)
  const { isAsked } = findCallerKey(context, settings.config) ?? { isAsked: true }
  if (flags.id !== undefined) return showOne(context, view, flags.id, { json: flags.json, isAsked })
  const query = (options: Readonly<Record<string, string>>): string =>
    `/requests?${new URLSearchParams({
      ...(flags.key !== undefined && { key: flags.key }),
      ...(flags.model !== undefined && { model: flags.model }),
      ...(flags.failed && { failed: 'true' }),
      ...options,
    }).toString()}`
  const isFiltered = flags.failed === true || flags.key !== undefined || flags.model !== undefined
  const list = await ask(view, query({ limit: String(limit) }), requestList)
  const first = list.requests
  if (view.health.demo && !flags.json)
    context.stdout.write('copilot-proxy runs with --demo, so all answers are simulated.\n\n')
  const layout = layoutRequests(first, context.now, context.stdout)
  if (!flags.follow) {
    if (flags.json) writeJson(context, list)
    else if (first.length === 0) context.stdout.write(isFiltered ? 'No matching requests.\n' : 'No requests yet.\n')
    else writeRows(context, first, layout, { withHead: true })
    return exitCode.done
  }
  if (!flags.json) context.stdout.write(formatHead(layout, context.stdout))
  const print = (newest: readonly RequestDocument[]): void => {
    if (!flags.json) return writeRows(context, newest, layout, { withHead: false })
    for (const request of newest.toReversed()) writeJsonLine(context, request)
  }
  print(first)
  await follow(context, view, first[0]?.id, { query, find, print })
  return exitCode.done
}

interface Following {
  readonly query: (options: Readonly<Record<string, string>>) => string
  readonly find: () => Promise<RemoteView | undefined>
  /** Newest first. */
  readonly print: (newest: readonly RequestDocument[]) => void
}

/** Polls until the reader has left, and waits for a daemon that is restarted. @throws the signal's reason on abort */
async function follow(
  context: CommandContext,
  given: RemoteView,
  last: string | undefined,
  { query, find, print }: Following,
): Promise<void> {
  let view: RemoteView | undefined = given
  let after = last
  while (!context.stdout.isClosed?.()) {
    await context.sleep(pollMs, context.signal)
    view ??= await find()
    // A daemon that has just started may not have written the owner's token yet.
    if (view?.address.key === undefined) view = undefined
    if (view === undefined) continue
    try {
      // A restarted daemon does not know the id, and lists everything.
      const path = query({ limit: String(maxRequests), ...(after !== undefined && { after }) })
      const { requests: newest } = await ask(view, path, requestList)
      if (newest.length > 0) print(newest)
      after = newest[0]?.id ?? after
    } catch (error) {
      if (!(error instanceof DaemonGone)) throw error
      context.stderr.write('copilot-proxy has stopped. Waiting for it to start again.\n')
      view = undefined
    }
  }
}

function writeRows(
  { stdout }: CommandContext,
  newest: readonly RequestDocument[],
  layout: RequestsLayout,
  { withHead }: { readonly withHead: boolean },
): void {
  // The newest is at the bottom, as in a log.
  const rows = requestsRows(newest.toReversed(), layout, stdout)
  stdout.write(`${withHead ? formatHead(layout, stdout) : ''}${rows}`)
}

async function showOne(
  context: CommandContext,
  view: RemoteView,
  id: string,
  { json, isAsked }: { readonly json: true | undefined; readonly isAsked: boolean },
): Promise<ExitCode> {
  const request = await ask(view, `/requests/${encodeURIComponent(id)}`, requestDetail).catch((error: unknown) => {
    if (!(error instanceof RouteRefused && error.status === 404)) throw error
    const message = `No request ${visible(JSON.stringify(id))} in the last ${maxRequests} requests. Run: copilot-proxy requests`
    throw new CommandFailure(exitCode.failed, message, { cause: error })
  })
  if (json) writeJson(context, request)
  else {
    const place = { url: view.address.url, isKeyAsked: isAsked }
    context.stdout.write(requestText(request, place, context.stdout))
  }
  return exitCode.done
}

/** @throws DaemonGone also while the daemon stops; CommandFailure; the signal's reason on abort */
async function ask<Schema extends z.ZodType>(
  view: RemoteView,
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  try {
    return await view.get(path, schema)
  } catch (error) {
    if (!(error instanceof RouteRefused)) throw error
    if (error.status >= 500) throw new DaemonGone(view.address.url, { cause: error })
    // After too many wrong keys.
    if (error.status !== 429) throw error
    const message = `copilot-proxy refused the request. ${visible(error.message)}`
    throw new CommandFailure(exitCode.failed, message, { cause: error })
  }
}

/** @throws CommandFailure `usage` */
function parseLimit(given: string): number {
  const limit = Number(given)
  if (/^\d+$/.test(given) && limit >= 1 && limit <= maxRequests) return limit
  const message = `--limit must be a whole number from 1 to ${maxRequests}, got ${visible(JSON.stringify(given))}.`
  throw new CommandFailure(exitCode.usage, message)
}
