import { once } from 'node:events'
import { visible } from '../../terminal/visible.ts'
import type { CommandContext } from './command.ts'

/** Asks the person; only yes is true. @throws on abort */
export async function confirm({ signal, stderr, stdin }: CommandContext, question: string): Promise<boolean> {
  signal.throwIfAborted()
  stderr.write(`${visible(question)} [y/N] `)
  const interrupted = once(signal, 'abort').then((): never => {
    // Output continues on a new line.
    stderr.write('\n')
    throw new Error('interrupted', { cause: signal.reason })
  })
  return /^y(?:es)?$/i.test((await Promise.race([readLine(stdin), interrupted])).trim())
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
