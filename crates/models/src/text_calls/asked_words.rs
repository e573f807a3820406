//! Words by which persons ask to be shown a call, in the languages they do it in. In lower case
//! without marks; divided by bars. `@t` is a tool with a name of its own, `@n` one that is called
//! by a word, `@f` a file.

/// Somebody else does it, or nobody.
pub const NOT_RUN: &str = "do it myself|run it myself|run that myself|run this myself|\
    execute it myself|call it myself|make it myself|send it myself|ll run it|ll execute it|\
    so i can run it|so that i can run it|so i can copy|so that i can copy|run by hand|\
    without running|without executing|without calling|without doing|without making|\
    without actually|don t actually|do not actually|not to run|not to execute|no need to run|\
    not be run|not be executed|not run it|not execute it|don t run it|don t execute it|\
    don t run this|do not run this|don t execute this|don t run that|do not run that|\
    don t run anything|do not run anything|don t execute anything|do not execute anything|\
    do not run them|don t run them|don t do it|do not do it|don t do that|do not do that|\
    don t call it|do not call it|don t call @t|do not call @t|don t call the tool|\
    do not call the tool|don t call any|do not call any|don t run the call|do not run the call|\
    don t make the call|do not make the call|don t execute the call|do not execute the call|\
    don t run the command|do not run the command|don t use any tool|do not use any tool|\
    don t use any tools|do not use any tools|don t use tools|do not use tools|\
    never run it|not for real|nothing should be run|nothing should run|dummy call|\
    only want to see it|only want to see the call|only want to see how|only want to see what it|\
    just want to see it|just want to see the call|just want to see how|just want to see what it|\
    only want to look at it|just want to look at it|only like to see it|just like to see it|\
    only want to see this|just want to see this|only want to see that|just want to see that|\
    only wanna see|just wanna see|\
    selbst aus|selber aus|selbst ausführen|selber ausführen|führe ich selbst|führe ich selber|\
    nur sehen|nur mal sehen|nur ansehen|nur mal ansehen|nur anschauen|bloß sehen|nur zeigen|\
    nur anzeigen|moi même|juste voir|seulement voir|simplement voir|juste le voir|juste la voir|\
    seulement le voir|yo mismo|yo misma|por mi cuenta|solo quiero ver|sólo quiero ver|\
    solo quiero verlo|sólo quiero verlo|solo quiero verla|sólo quiero verla|solo verlo|\
    io stesso|io stessa|lo eseguo io|la eseguo io|solo vedere|solo vederlo|solo vederla|\
    eu mesmo|eu mesma|só quero ver|apenas quero ver|quero apenas ver|só ver|apenas ver|\
    zelf uit|zelf uitvoeren|voer zelf|alleen zien|alleen maar zien|alleen even zien|\
    nie uruchamiaj|nie wykonuj|kör inte|не выполняй|не выполняйте|не запускай|не запускайте|\
    только посмотреть|только покажи|\
    dry run only|only a dry run|just a dry run|dry run please|as a dry run|simulate the call|\
    simulate a call|simulate a tool call|simulate the tool call|simulate calling|simulate what you|\
    simulate how you|pretend to call|pretend to run|pretend to make the call|spouštěj to|\
    nespouštěj|nespouštěj to|çalıştırma|لا تنفذه|لا تنفذ|đừng chạy|không chạy|nie uruchamiaj tego";

/// Words that deny, and what begins the words for running something: one shortly before the other.
pub const DENIES: &str = "nicht|ohne|kein|keinen|keine|pas|sans|n|ne|no|sin|non|senza|não|nao|sem|\
    niet|zonder|geen";
pub const RUNS: &[&str] = &[
    "ausführ",
    "auszuführ",
    "ausgeführ",
    "aufruf",
    "aufzuruf",
    "exécut",
    "execut",
    "ejecut",
    "esegu",
    "uitvoer",
    "uitgevoerd",
    "appell",
    "llames",
    "chiamar",
];
/// The same where the word for running comes first.
pub const RUNS_NOT: &str = "es nicht aus|ihn nicht aus|sie nicht aus|das nicht aus|ihn aber nicht aus|\
    es aber nicht aus|sie aber nicht aus|nichts aus|het niet uit|hem niet uit|ze niet uit|niets uit|\
    het uit te voeren|hem uit te voeren|zonder uit te voeren";

/// A call, and nothing else.
pub const CALL: &str = "tool call|tool calls|tool_call|tool_calls|toolcall|toolcalls|function call|\
    function calls|tool invocation|function invocation|raw call|example call|example calls|\
    sample call|json call|call syntax|call format|@t call|@t calls|@n call|@n calls|call of @t|\
    calls of @t|call to @t|calls to @t|call for @t|call of @n|call of the @t|call to the @t|\
    call to the @n|call of the @n|@t tool call|@n tool call|@t invocation|@t request|@t command|\
    invocation of @t|\
    function calling|tool calling|request body for @t|request body of @t|body for @t|payload for @t|\
    payload of @t|@t payload|@t request body|training example for function";
/// The same as what something is done with.
pub const BY_CALL: &str = "with a tool call|using a tool call|by a tool call|via a tool call|\
    use a tool call|use the tool call|with one tool call|with tool calls|use tool calls|\
    using tool calls|with a function call|using a function call|use a function call|\
    with a @t call|using a @t call|use a @t call|with a @n call|use a @n call|using a @n call|\
    through a tool call|\
    with function calling|use function calling|with tool calling|use tool calling|via function calling";
/// What may be such a call or a talk by telephone.
pub const MAYBE_CALL: &str = "a call|the call|this call|that call|calls|call look|call would|\
    call you|invocation|aufruf|aufrufs|aufrufe|aufrufen|werkzeugaufruf|werkzeugaufrufe|toolaufruf|\
    toolaufrufe|tool aufruf|funktionsaufruf|funktionsaufrufe|appel|appels|invocation|llamada|\
    llamadas|invocación|chiamata|chiamate|invocazione|chamada|chamadas|invocação|aanroep|\
    aanroepen|toolaanroep|functieaanroep|wywołanie|wywołania|anrop|verktygsanrop|вызов|вызова|\
    вызовы|\
    вызовом|вызову|wywołań|wywołaniu|çağrı|çağrısı|çağrısını|çağrısının|çağrısına|استدعاء|الاستدعاء|\
    نداء|volání|zavolání|lời gọi|cú gọi|gọi";

/// What stands behind a talk by telephone.
pub const WITH_SOMEBODY: &str = "call with|calls with|call from|calls from|call at|call on|call me|\
    phone call|phone calls|appel avec|llamada con|chiamata con|chamada com|anruf";

/// An example.
pub const EXAMPLE: &str = "example|examples|sample|samples|beispiel|beispiele|exemple|exemples|\
    ejemplo|ejemplos|esempio|esempi|exemplo|exemplos|voorbeeld|voorbeelden|przykład|przykłady|\
    exempel|пример|примеры|приклад|muster|\
    примера|примером|образец|przykładu|przykładowe|przykładem|örnek|örneği|örneğini|örnekler|příklad|\
    příklady|příkladu|ukázka|ukázku|ví dụ|مثال|مثالا|مثالًا|مثالاً|المثال|أمثلة";
/// What is no example but leads to one, and what is called so.
pub const NO_EXAMPLE: &str = "for example|for instance|zum beispiel|par exemple|por ejemplo|\
    per esempio|ad esempio|por exemplo|na przykład|till exempel";
/// What stands before an example that is asked for, or behind it.
pub const EXAMPLE_BEFORE: &str = "a|an|one|another|some|any|more|me|us|ein|eins|einen|noch|nur|\
    un|otro|autre|uno|une|um|outro|een|nog|solo|juste|des|unos|degli|alcuni|jeden|ett|give|show|\
    need|want|dame|dammi|пример|покажи|\
    bir|bana|mi|daj|podaj|dej|ukaž|أعطني|أرني|dụ";
pub const EXAMPLE_BEHIND: &str = "of|for|how|call|please|first|only|that|bitte|für|von|wie|pour|de|\
    d|s|para|per|di|por|favor|voor|van|hoe|alsjeblieft|proszę|для|\
    пожалуйста|prosím|lütfen|göster|ver|على|من|dla|pro|için";
/// Files and the like, which may be an example themselves.
pub const THING: &str = "file|files|folder|folders|directory|directories|project|config|script|\
    scripts|data|page|pages|site|document|documents|code|text|json|yaml|csv|program|app|\
    datei|dateien|ordner|fichier|fichiers|dossier|archivo|archivos|carpeta|cartella|arquivo|\
    arquivos|pasta|bestand|bestanden|map|\
    файла|файл|файлы|файлов|plik|pliku|pliki|plików|soubor|souboru|soubory|dosya|dosyası|dosyasını|\
    dosyayı|ملف|ملفا|الملف|tệp|tập";

/// How something is written. Who asks that wants to see it.
pub const SYNTAX: &str = "syntax|syntaxe|sintaxis|sintassi|sintaxe|syntaxis|składnia|синтаксис|\
    składni|składnię|синтаксиса|sözdizimi|söz dizimi|syntaxi|cú pháp|صيغة|الصيغة|بنية";
pub const FORMAT: &str = "format|formats|formato|formaat|usage|signature|schema|json|jsonformat|\
    look like|looks like|formatted|structured|structure|parameters|arguments|aussehen|aussieht|\
    sieht|aus|ressemble|apparence|aspecto|luce|pinta|aspetto|appare|aparência|parece|eruit|\
    uitziet|ziet|wygląda|ser ut|выглядит|формат|\
    görünür|görünüyor|يبدو|تبدو|vypadá|vypadat|wyglądać|wyglądałoby|выглядеть|trông|biçimi";
/// Words of asking, showing and explaining.
pub const SHOW: &str = "show|shows|see|display|print|output|write out|write down|respond|reply|answer|\
    give|return|spell out|tell|what|which|how|explain|describe|convert|turn|translate|raw|only|just|\
    demonstrate|illustrate|type out|list|draft|would|could you make|zeig|zeige|zeigen|gib|nenn|\
    nenne|wie|was|welche|welcher|erkläre|erklär|beschreibe|sehen|schick|nur|wandle|antworte|montre|\
    montrez|montrer|donne|donnez|voir|comment|quel|quelle|explique|affiche|à quoi|convertis|\
    muéstrame|muestra|muéstreme|muestrame|enséñame|dame|deme|ver|cómo|qué|cuál|explica|imprime|\
    mostrami|mostra|mostrare|fammi vedere|vedere|dammi|com|come|quale|spiega|stampa|mostre|mostrar|\
    dê|dá|como|qual|explique|imprima|toon|laat|geef|hoe|wat|welke|leg uit|zien|pokaż|visa|hur|\
    покажи|покажите|как|какой|дай|\
    pretend|simulate|imagine|приведи|приведите|какая|каков|podaj|jakie|jaka|jak|göster|gösterir|nasıl|nedir|\
    örnekle|أرني|اعرض|كيف|أعطني|ما|ukaž|ukažte|jaká|jaký|cho|đưa|xem|thế nào|hiển thị";
/// Asking what somebody else would do.
pub const WOULD: &str = "how would you|how would one|how would i|how would we|how d you|what would you|\
    what would i|which tool would|you would make|you would send|you would call|\
    you would print|you would emit|you would issue|you would run|you would use|you d make|you d send|\
    you d call|you d use|you d run|how you would|how you d|would you make|would you send|\
    wie würdest du|wie würden sie|was würdest du|comment ferais tu|comment feriez vous|\
    que ferais tu|cómo harías|cómo lo harías|qué harías|come faresti|cosa faresti|como você faria|\
    como farias|o que você faria|hoe zou je|wat zou je|how do you call|how do i call|how to call|\
    how do you use @t|how do i use @t|how to use @t|how to @t|how do i @t|how do you @t|\
    do you call tools|do you call a tool|do you call your tools|cómo se llama a @t|\
    cómo llamo a @t|comment appeler @t|wie ruft man @t|wie rufe ich @t|come si chiama @t|\
    hoe roep ik @t|how is @t|how does @t|what is @t|what s @t|what does @t|\
    what you d|you would output|you d output|you d print|you d emit|you would write down";
/// JSON as what is to be answered.
pub const THE_JSON: &str = "the json|only json|just json|raw json|json only|json for|json to|json you|\
    das json|nur json|le json|el json|il json|o json|het json|alleen json|just the json|json please|\
    json bitte|json directly";
/// What something is done with stands behind one of these.
pub const WITH: &str = "use|uses|using|with|via|by|through|call|calling|run|running|invoke|execute|\
    try|from|in|into|on|benutze|benutz|verwende|nutze|nutz|nimm|mit|per|rufe|ruf|über|utilise|\
    utilisez|utiliser|avec|appelle|par|usa|use|utiliza|con|llama|mediante|usando|chiama|tramite|\
    com|chame|gebruik|met|roep|you|please|then|and|i";
/// What may stand between.
pub const THE: &str = "the|a|an|your|tool|tools|skill|function|das|die|den|der|dem|ein|einen|dein|werkzeug|\
    le|la|l|un|une|outil|fonction|el|una|herramienta|il|lo|uno|strumento|o|um|uma|ferramenta|het|een";

/// What may stand before an order.
pub const LEADS: &str = "please|can you|could you|would you|will you|now|then|first|second|third|next|\
    finally|also|and|ok|okay|hey|hi|hello|just|kindly|go ahead and|i want you to|i need you to|\
    i d like you to|i would like you to|let s|but|so|bitte|jetzt|dann|zuerst|und|kannst du|\
    könntest du|s il te plaît|s il vous plaît|peux tu|pouvez vous|maintenant|et|por favor|puedes|\
    ahora|y|per favore|puoi|ora|e|você pode|pode|agora|alsjeblieft|kun je|nu|en|i need|i want|\
    i d like|i would like|ich brauche|actually|\
    lütfen|şimdi|prosím|من فضلك|الآن|hãy|vui lòng|пожалуйста|теперь|proszę|teraz";
/// Verbs by which something is ordered, as a sentence begins with them.
pub const ACT: &str = "write|create|make|save|add|append|put|store|delete|remove|rename|move|copy|\
    change|edit|replace|patch|update|fix|read|open|list|find|search|look|check|count|run|execute|use|\
    call|invoke|start|stop|fetch|download|load|browse|visit|go|do it|do this|do that|do a|do the|do one|set|convert|turn|transform|build|install|remember|note|\
    forget|remind|post|delegate|sort|extract|compare|commit|clean|empty|fill|generate|insert|\
    test|try|plan|schedule|prepare|compile|summarize|summarise|keep|a file|the file|a script|\
    schreib|schreibe|erstelle|erstell|lege|leg|mach|mache|lies|lösche|lösch|speichere|speicher|\
    öffne|such|suche|merk|merke|benutze|verwende|nutze|ruf|rufe|füge|füg|ändere|führe|führ|\
    erinnere|vergiss|wandle|wandel|benenne|verschiebe|kopiere|hol|hole|prüfe|zähle|eine datei|\
    écris|écrivez|crée|créez|fais|faites|lis|lisez|supprime|supprimez|enregistre|ouvre|cherche|\
    exécute|exécutez|convertis|convertissez|lance|utilise|utilisez|ajoute|souviens|rappelle|retiens|oublie|copie|renomme|\
    escribe|crea|haz|lee|borra|elimina|guarda|abre|busca|ejecuta|convierte|usa|utiliza|añade|agrega|recuerda|\
    recuérdame|olvida|cambia|copia|scrivi|fai|leggi|cancella|salva|apri|cerca|esegui|aggiungi|converti|\
    ricorda|ricordami|dimentica|rinomina|escreva|escreve|crie|cria|faça|faz|leia|lê|apague|exclua|\
    salve|guarde|abra|procure|busque|execute|adicione|converta|lembre|lembra|esqueça|renomeie|schrijf|maak|\
    lees|verwijder|bewaar|sla|zoek|voer|gebruik|voeg|onthoud|vergeet|hernoem|napisz|utwórz|\
    przeczytaj|usuń|skriv|skapa|läs|напиши|создай|прочитай|удали|запусти|запомни|сохрани|\
    vytvoř|napiš|ulož|přečti|smaž|spusť|otevři|najdi|أنشئ|اكتب|اقرأ|احذف|احفظ|شغل|نفذ|افتح|tạo|viết|đọc|xóa|\
    lưu|chạy|mở|сделай|найди|выполни|открой|проверь|запиши|stwórz|zapisz|uruchom|otwórz|znajdź|sprawdź";
/// Of these, those that also make a call's text and not what it does.
pub const WRITES: &str = "write|create|generate|convert|turn|transform|put|wandle|wandel|convertis|convierte|\
    converti|converta|schreib|schreibe|erstelle|generiere|écris|\
    escribe|scrivi|escreva|schrijf|make";

/// What an answer to a question after an example begins with.
pub const AND: &str = "and|another|one more|again|more|now for|now one|what about|how about|und|noch|\
    et|encore|un autre|y|otro|e|un altro|outro|mais um|en|nog|もう|では|再|那|还有";

/// What tells that something be done which was proposed, and what may stand beside it.
pub const ORDERS: &str = "yes|yeah|yep|sure|ok|okay|do|run|go|execute|proceed|write|create|make|save|\
    delete|remove|call|read|use|try|send|add|confirmed|ja|mach|los|tu|führe|ausführen|oui|vas|fais|\
    exécute|sí|si|hazlo|adelante|ejecuta|ejecútalo|sì|fallo|procedi|esegui|eseguilo|sim|faça|faz|\
    doe|voer|да|давай|выполни|\
    dělej|yap|oluştur|نفذ|сделай|создай|запиши|запусти|zrób|zapisz|utwórz|wykonaj|mach";
pub const BESIDE_ORDERS: &str = "please|it|that|this|now|then|the|a|an|file|command|call|tool|ahead|so|\
    and|thanks|thank|you|for|me|real|really|actually|just|in|terminal|to|with|named|called|can|could|\
    bitte|es|das|jetzt|die|den|der|datei|aus|s|il|te|plaît|vous|le|la|y|maintenant|por|favor|ahora|\
    lo|el|archivo|per|favore|ora|o|isso|agora|het|nu|alsjeblieft|uit|maar|\
    text|content|contents|containing|contains|word|words|line|saying|into|folder|of|on|in|finally|properly|\
    already|have|yet|still|wirklich|endlich|jetzt|mal|doch|vraiment|enfin|realmente|davvero|echt";
/// Who says one of these wants to hear something and have nothing done.
pub const RETELLS: &str = "say|said|repeat|repeats|quote|show|print|tell|told|recite|again|once more|\
    remember|what|which|wiederhole|wiederhol|zeig|zeige|sag|répète|répétez|montre|dis|repite|di|\
    muestra|ripeti|repita|herhaal|zeg|повтори";

/// The same in scripts that put no blanks between words.
pub const NOT_RUN_UNSPACED: &str = "実行しない|実行せず|実行しなくて|実行は不要|実行不要|動かさない|\
    呼び出さない|不要执行|不要執行|不要运行|不要運行|不要调用|别执行|別執行|别运行|别调用|不执行|不執行|\
    不运行|不運行|无需执行|不用执行|勿执行|見たいだけ|見るだけ|見せるだけ|表示するだけ|\
    表示だけ|自分で実行|自分でや|我自己|自己运行|自己执行|只想看|只是想看|只要看|只看|仅展示|只展示|只显示|\
    看看就|只是看|실행하지|보기만|보고만|\
    मत चला|न चला|ไม่ต้องรัน|อย่ารัน|ไม่ต้องเรียก";
pub const CALL_UNSPACED: &str =
    "呼び出し|呼出し|呼び出す|ツールコール|関数コール|调用|調用|呼叫|호출|कॉल|การเรียก|เรียกใช้";
pub const EXAMPLE_UNSPACED: &str = "例を|例が|例は|の例|サンプル|例子|示例|范例|範例|样例|樣例|예시|예제|예를|\
    예를|उदाहरण|ตัวอย่าง";
pub const THING_UNSPACED: &str = "サンプルファイル|サンプルデータ|サンプルコード|サンプルの|示例文件|示例数据|\
    示例代码|范例文件|样例文件|示例檔|예제파일|예제 파일|\
    उदाहरण फ़ाइल|उदाहरण फाइल|ไฟล์ตัวอย่าง";
pub const SYNTAX_UNSPACED: &str = "構文|書式|形式|语法|語法|格式|구문|형식|フォーマット|\
    सिंटैक्स|सिंटेक्स|वाक्य रचना|ไวยากรณ์|รูปแบบ";
pub const SHOW_UNSPACED: &str = "見せ|見たい|示して|表示|教えて|どんな|どのよう|どう|给我看|給我看|展示|显示|\
    顯示|看看|看一下|怎么|怎麼|什么样|什麼樣|什么|什麼|写出|输出|輸出|给出|給出|给我|給我|如何|だけ|只|보여|어떻게|무엇|\
    알려|생겼|어떤|दिखा|बता|कैसे|कैसा|कैसी|แสดง|ขอดู|อย่างไร|ยังไง|คืออะไร";
pub const ACT_UNSPACED: &str = "作って|作成|書いて|書き込|保存|読んで|読み|削除|消して|開いて|写入|写一个|写個|\
    创建|創建|建立|读取|讀取|打开|打開|删除|刪除|运行|執行|执行|実行して|記住|记住|覚えて|만들어|저장|읽어|삭제|실행해|\
    लिखो|लिखें|लिखिए|बनाओ|बनाएं|बनाइए|सहेज|हटा|पढ़|เขียน|สร้าง|บันทึก|ลบ|อ่าน|เปิด";
/// A whole message that tells to go on.
pub const ORDER_UNSPACED: &str = "はい|お願いします|実行して|実行してください|やって|やってください|是|是的|好|好的|\
    执行|执行吧|執行|运行|运行吧|可以|行|做吧|네|예|실행해";
/// Words by which somebody says that nothing was done, before the order that it be.
pub const COMPLAINTS: &str = "you did nothing|you have done nothing|you ve done nothing|\
    you didn t do anything|you did not do anything|you haven t done anything|you didn t do it|\
    you did not do it|nothing happened|nothing was done|that did nothing|it did nothing|you only showed it|\
    you just showed it|you only wrote it|i said|i told you to|i asked you to|as i said|as i asked|\
    as i told you|du hast nichts gemacht|du hast nichts getan|es ist nichts passiert|nichts passiert|\
    ich sagte|tu n as rien fait|no hiciste nada|no has hecho nada|non hai fatto niente|\
    você não fez nada|je hebt niets gedaan|ты ничего не сделал";
/// Words by which an order is none, or depends on something.
pub const HOLDS_BACK: &str = "not|don|doesn|never|no|nobody|if|unless|until|when|whenever|once|after|\
    before|but|instead|only|later|said|says|nicht|kein|keine|nie|wenn|falls|bevor|nachdem|aber|erst|pas|\
    jamais|si|quand|mais|cuando|pero|nunca|non|se|quando|ma|não|mas|niet|nooit|als|не|если|когда|но|\
    nie|jeśli|gdy";
