//! What a page shows: runs its operators as far as they place text, and writes that down in
//! lines.

use super::file::File;
use super::font::Font;
use super::object::{Dict, Lexer, Object, Refs};
use std::collections::HashMap;
use std::rc::Rc;

/// Operands that one operator may have.
const OPERANDS_MAX: usize = 64;
/// States that a page may set aside.
const STATES_MAX: usize = 64;
/// How deep forms may stand in forms.
const FORMS_DEPTH_MAX: usize = 6;
/// Fonts that are kept.
const FONTS_MAX: usize = 256;

/// Places text.
pub(super) struct Painter<'f> {
    file: &'f File<'f>,
    fonts: HashMap<u32, Rc<Font>>,
    out: String,
    max: usize,
    /// Where the last glyph ended, and how high it was.
    last: Option<(f64, f64, f64)>,
}

/// Six numbers of a transformation.
#[derive(Clone, Copy)]
struct Matrix([f64; 6]);

impl Matrix {
    const SAME: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    fn moved(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    fn of(operands: &[Object]) -> Option<Self> {
        let mut numbers = [0.0; 6];
        for (number, operand) in numbers.iter_mut().zip(operands.get(..6)?) {
            *number = operand.number()?;
        }
        Some(Self(numbers))
    }

    /// This one first, then `next`.
    fn then(self, next: Self) -> Self {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, next.0);
        Self([
            a * g + b * i,
            a * h + b * j,
            c * g + d * i,
            c * h + d * j,
            e * g + f * i + k,
            e * h + f * j + l,
        ])
    }
}

#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
}

impl State {
    fn new(page: Matrix) -> Self {
        Self {
            page,
            font: None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
        }
    }
}

/// Where text goes, within one page or form.
struct Pen {
    state: State,
    aside: Vec<State>,
    text: Matrix,
    line: Matrix,
}

impl<'f> Painter<'f> {
    pub(super) fn new(file: &'f File<'f>, max: usize) -> Self {
        Self { file, fonts: HashMap::new(), out: String::new(), max, last: None }
    }

    pub(super) fn is_full(&self) -> bool {
        self.out.len() >= self.max
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Adds a page.
    pub(super) fn page(&mut self, content: &[u8], resources: &Dict) {
        if !self.out.is_empty() {
            self.out.push_str("\n\n");
        }
        self.last = None;
        self.run(content, resources, State::new(Matrix::SAME), 0);
    }

    fn run(&mut self, content: &[u8], resources: &Dict, state: State, depth: usize) {
        let mut lexer = Lexer::new(content, 0, Refs::Unknown, self.file.budget());
        let mut pen = Pen { state, aside: Vec::new(), text: Matrix::SAME, line: Matrix::SAME };
        let fonts = resources.get(b"Font").map(|it| self.file.dict(it)).unwrap_or_default();
        let forms = resources.get(b"XObject").map(|it| self.file.dict(it)).unwrap_or_default();
        let mut operands: Vec<Object> = Vec::new();
        while let Some(object) = lexer.next() {
            if self.is_full() {
                return;
            }
            let Object::Word(word) = &object else {
                if operands.len() < OPERANDS_MAX {
                    operands.push(object);
                }
                continue;
            };
            match &**word {
                b"Tf" => self.set_font(&mut pen, &operands, &fonts),
                b"Do" => self.form(&pen, &operands, &forms, resources, depth),
                b"BI" => skip_image(content, &mut lexer),
                word => self.operate(&mut pen, word, &operands),
            }
            operands.clear();
        }
    }

    fn operate(&mut self, pen: &mut Pen, word: &[u8], operands: &[Object]) {
        let number = |at: usize| operands.get(at).and_then(Object::number).unwrap_or(0.0);
        let state = &mut pen.state;
        match word {
            b"q" if pen.aside.len() < STATES_MAX => pen.aside.push(state.clone()),
            b"Q" => {
                if let Some(kept) = pen.aside.pop() {
                    *state = kept;
                }
            }
            b"cm" => {
                if let Some(matrix) = Matrix::of(operands) {
                    state.page = matrix.then(state.page);
                }
            }
            b"BT" => (pen.text, pen.line) = (Matrix::SAME, Matrix::SAME),
            b"Tc" => state.char_space = number(0),
            b"Tw" => state.word_space = number(0),
            b"Tz" => state.stretch = number(0) / 100.0,
            b"TL" => state.leading = number(0),
            b"Td" => pen.next_line(number(0), number(1)),
            b"TD" => {
                state.leading = -number(1);
                pen.next_line(number(0), number(1));
            }
            b"T*" => pen.next_line(0.0, -pen.state.leading),
            b"Tm" => {
                if let Some(matrix) = Matrix::of(operands) {
                    (pen.text, pen.line) = (matrix, matrix);
                }
            }
            b"Tj" => self.show_all(pen, operands),
            b"'" => {
                pen.next_line(0.0, -pen.state.leading);
                self.show_all(pen, operands);
            }
            b"\"" => {
                (state.word_space, state.char_space) = (number(0), number(1));
                pen.next_line(0.0, -pen.state.leading);
                self.show_all(pen, operands.get(2..).unwrap_or_default());
            }
            b"TJ" => {
                if let Some(Object::Array(items)) = operands.first() {
                    self.show_all(pen, items);
                }
            }
            _ => {}
        }
    }

    fn set_font(&mut self, pen: &mut Pen, operands: &[Object], fonts: &Dict) {
        let (Some(name), Some(size)) =
            (operands.first().and_then(Object::name), operands.get(1).and_then(Object::number))
        else {
            return;
        };
        pen.state.size = size;
        pen.state.font = fonts.get(name).map(|font| match font {
            Object::Ref(number) => match self.fonts.get(number) {
                Some(kept) => kept.clone(),
                None => {
                    let read = Rc::new(Font::read(self.file, &self.file.dict(font)));
                    if self.fonts.len() < FONTS_MAX {
                        self.fonts.insert(*number, read.clone());
                    }
                    read
                }
            },
            font => Rc::new(Font::read(self.file, &self.file.dict(font))),
        });
    }

    fn form(
        &mut self,
        pen: &Pen,
        operands: &[Object],
        forms: &Dict,
        resources: &Dict,
        depth: usize,
    ) {
        let name = operands.first().and_then(Object::name);
        let Some(reference) = name.and_then(|name| forms.get(name)) else { return };
        let form = self.file.dict(reference);
        if depth >= FORMS_DEPTH_MAX || !form.is(b"Subtype", b"Form") {
            return;
        }
        let Some(content) = self.file.stream(reference) else { return };
        let own = form.get(b"Resources").map(|it| self.file.dict(it));
        let matrix = match form.get(b"Matrix").map(|it| self.file.resolve(it)) {
            Some(Object::Array(numbers)) => Matrix::of(&numbers),
            _ => None,
        };
        let page = matrix.unwrap_or(Matrix::SAME).then(pen.state.page);
        let state = State { page, ..pen.state.clone() };
        self.run(&content, own.as_ref().unwrap_or(resources), state, depth + 1);
    }

    fn show_all(&mut self, pen: &mut Pen, items: &[Object]) {
        for item in items {
            match item {
                Object::Text(bytes) => self.show(pen, bytes),
                Object::Number(back) => {
                    let by = -back / 1_000.0 * pen.state.size * pen.state.stretch;
                    pen.text = Matrix::moved(by, 0.0).then(pen.text);
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, pen: &mut Pen, bytes: &[u8]) {
        let unknown = Rc::new(Font::default());
        let font = pen.state.font.clone().unwrap_or(unknown);
        let mut is_first = true;
        for glyph in font.glyphs(bytes) {
            if std::mem::take(&mut is_first) {
                self.place(pen);
            }
            if self.is_full() {
                return;
            }
            self.out.push_str(&glyph.text);
            let State { size, char_space, word_space, stretch, .. } = pen.state;
            let space = if glyph.is_space { word_space } else { 0.0 };
            let by = (glyph.width / 1_000.0 * size + char_space + space) * stretch;
            pen.text = Matrix::moved(by, 0.0).then(pen.text);
        }
        if !is_first {
            let (x, y, height) = pen.place();
            self.last = Some((x, y, height));
        }
    }

    /// Writes the space or the line that lies between the last glyph and the next.
    fn place(&mut self, pen: &Pen) {
        let Some((last_x, last_y, last_height)) = self.last else { return };
        let (x, y, height) = pen.place();
        let height = height.max(last_height);
        let (across, down) = (x - last_x, (y - last_y).abs());
        if !(across.is_finite() && down.is_finite() && height > 0.0) {
            self.separate(" ");
        } else if down > height * 1.9 {
            self.separate("\n\n");
        } else if down > height * 0.5 {
            self.separate("\n");
        } else if across > height * 0.18 || across < -height {
            self.separate(" ");
        }
    }

    fn separate(&mut self, by: &str) {
        if by == " " && self.out.ends_with([' ', '\n']) || self.out.is_empty() {
            return;
        }
        self.out.push_str(by);
    }
}

impl Pen {
    fn next_line(&mut self, x: f64, y: f64) {
        self.line = Matrix::moved(x, y).then(self.line);
        self.text = self.line;
    }

    /// Where the next glyph goes on the page, and how high it is there.
    fn place(&self) -> (f64, f64, f64) {
        let [_, _, c, d, x, y] = self.text.then(self.state.page).0;
        (x, y, self.state.size.abs() * c.hypot(d))
    }
}

/// Steps over a picture that stands in the page itself.
fn skip_image(content: &[u8], lexer: &mut Lexer<'_>) {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|it| super::object::is_space(*it));
    let mut at = lexer.at;
    while let Some(found) =
        content.get(at..).and_then(|rest| super::super::charset::find(rest, b"EI"))
    {
        at += found + 2;
        if is_edge(content.get(at.wrapping_sub(3))) && is_edge(content.get(at)) {
            lexer.at = at;
            return;
        }
    }
    lexer.at = content.len();
}
