import { messagesDialect } from '../../../src/translate/messages/dialect.ts'
import { expect, test } from 'vitest'
import type { DecodedTurn } from '../../../src/translate/dialect.ts'
import { clientNames, fixture, turnOf, context } from './caller-helpers.ts'

const golden = (name: string) => `../../golden/messages-turn/${name}.json`

// Cases of test/fixtures/worked whose `in` is the part of a request that they are about.
test.each(['03', '04', '06', '07', '09', '21', '22', '27', '32'])('%s as a Turn', async (id) => {
  const { in: whole } = worked(id)
  // Some cases hold what upstream answers as well.
  const body = Object.fromEntries(Object.entries(whole).filter(([key]) => !key.startsWith('upstream_')))
  await expect(asText(turnOf(body))).toMatchFileSnapshot(golden(id))
})

test('08 as a Turn, when its answer comes back', async () => {
  const { out } = worked('08')
  const messages = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: out.content },
    { role: 'user', content: 'and?' },
  ]
  await expect(asText(turnOf({ messages }))).toMatchFileSnapshot(golden('08'))
})

test('28 as Turns', async () => {
  const bodies: readonly object[] = Object.values(worked('28').in)
  const reasonings = bodies.map((body) => turnOf(body).turn.reasoning)
  await expect(`${JSON.stringify(reasonings, null, 2)}\n`).toMatchFileSnapshot(golden('28'))
})

test('29 as a Turn', async () => {
  const { in: message } = worked('29')
  await expect(asText(turnOf({ messages: [{ role: 'user', ...message }] }))).toMatchFileSnapshot(golden('29'))
})

test.each(clientNames.filter((name) => name !== 'anthropic-sdk-thread'))('a request of %s as a Turn', async (name) => {
  const decoded = messagesDialect.decodeTurn(
    messagesDialect.decodeRequest(fixture(`messages-requests/${name}.json`)),
    context,
  )
  await expect(asText(decoded)).toMatchFileSnapshot(golden(name))
})

/** What the cases hold, each of them a part of it. */
interface Worked {
  readonly in: object
  readonly out: { readonly content: readonly object[] }
}

function worked(id: string): Worked {
  // The files are the cases themselves; a case without such a part is not asked for it.
  return JSON.parse(fixture(`worked/${id}.json`)) as Worked
}

/** Without the names of fields, which are the same for every request. */
function asText({ turn, warnings }: DecodedTurn): string {
  return `${JSON.stringify({ turn: { ...turn, fieldNames: undefined }, warnings }, null, 2)}\n`
}
