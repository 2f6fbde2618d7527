import type { CommandContext } from './context.ts'

/** Asks a person; anything but yes is no. @throws the signal's reason when it is aborted */
export async function confirm(context: CommandContext, question: string): Promise<boolean> {
  context.stderr.write(`${question} [y/N] `)
  const answer = await Promise.race([
    readLine(context.stdin),
    // What comes next begins on a line of its own.
    untilAborted(context.signal).finally(() => context.stderr.write('\n')),
  ])
  return /^y(?:es)?$/i.test(answer.trim())
}

async function readLine(stdin: CommandContext['stdin']): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stdin) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (text.includes('\n')) break
  }
  return text.split('\n', 1).join('')
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(new Error('interrupted', { cause: signal.reason }))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}
