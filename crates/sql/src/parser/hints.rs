//! Parsing of hint comments.

use crate::ast::{Hint, Pos};
use crate::lexer::{Token, TokenKind, lex, string_contents};

/// The hints in the text of a comment, which begins at `base`. Parsing stops at the first invalid hint.
pub(super) fn parse(text: &str, base: u32) -> Vec<Hint> {
    let lexed = lex(text);
    let tokens = &lexed.tokens;
    let mut list = Vec::new();
    let mut i = 0;
    while tokens[i].kind == TokenKind::Word {
        let name = text[tokens[i].start as usize..tokens[i].end as usize].to_uppercase();
        let mut hint = Hint { name, args: Vec::new(), pos: Pos(base + tokens[i].start) };
        i += 1;
        if tokens[i].kind == TokenKind::LeftParen {
            match hint_args(text, tokens, i + 1) {
                Some((args, next)) => {
                    hint.args = args;
                    i = next;
                }
                None => return list,
            }
        } else if tokens[i].kind == TokenKind::Comma {
            i += 1;
        }
        list.push(hint);
    }
    list
}

/// The words up to the closing parenthesis, and the index after it. `t.x`, `t@qb` and an inner group are one word each.
fn hint_args(text: &str, tokens: &[Token], mut i: usize) -> Option<(Vec<String>, usize)> {
    let mut args: Vec<String> = Vec::new();
    let mut open = 0u32;
    let mut last_end = u32::MAX;
    loop {
        let token = tokens[i];
        let source = &text[token.start as usize..token.end as usize];
        i += 1;
        match token.kind {
            TokenKind::End | TokenKind::Error(_) => return None,
            TokenKind::RightParen if open == 0 => return Some((args, i)),
            TokenKind::Comma if open == 0 => continue,
            _ => {}
        }
        let piece = match token.kind {
            TokenKind::QuotedIdent => source.trim_matches('"').to_owned(),
            TokenKind::String => string_contents(source),
            _ => source.to_uppercase(),
        };
        let closes = token.kind == TokenKind::RightParen;
        let joins = open > 0 || (last_end == token.start && token.kind != TokenKind::LeftParen);
        match args.last_mut() {
            Some(word) if joins => {
                if open > 0 && !closes && last_end != token.start {
                    word.push(' ');
                }
                word.push_str(&piece);
            }
            _ => args.push(piece),
        }
        open = match token.kind {
            TokenKind::LeftParen => open + 1,
            TokenKind::RightParen => open - 1,
            _ => open,
        };
        last_end = token.end;
    }
}
