/** Returns a text of at most `longest` characters; if it is cut, it ends with an ellipsis. */
export function cutText(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).toWellFormed()}…`
}
