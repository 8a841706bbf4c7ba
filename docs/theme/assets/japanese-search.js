// The search splits a query at spaces only, and Japanese has none: split it where the script changes.
// Particles and endings in hiragana between other words are left out, since they occur on every page.
{
  const QUERY = 2
  const words = /[\p{sc=Katakana}ー]+|\p{sc=Han}+|[^\s\p{sc=Katakana}\p{sc=Han}\p{sc=Hiragana}ー]+/gu
  const split = text => (text.match(words) ?? [text]).join(" ")
  const post = Worker.prototype.postMessage
  Worker.prototype.postMessage = function (message, ...rest) {
    const query = message?.type === QUERY && typeof message.data === "string"
    return post.call(this, query ? { ...message, data: split(message.data) } : message, ...rest)
  }
}
