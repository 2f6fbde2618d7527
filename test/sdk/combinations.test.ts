import { judge } from './judge.ts'
import { kinds } from './kinds.ts'
import { some } from '../thorough.ts'
import { anthropicMessages } from './speakers/anthropic.ts'
import { openaiChat } from './speakers/openai-chat.ts'
import { openaiResponses } from './speakers/openai-responses.ts'

for (const [at, speaker] of [openaiChat, openaiResponses, anthropicMessages].entries()) {
  for (const kind of some(kinds, 2, at)) judge(speaker, kind)
}
